//! The launcher of tools for the tests.

fn main() -> std::process::ExitCode {
    strongroom_tool::launch(std::env::args_os().skip(1))
}
