//! Validates the bags named on the command line and prints what is wrong with them: `validate [--profile NAME] PATH...`.

use std::path::Path;
use std::process::ExitCode;

use strongroom_bagit::{CheckOptions, Profile, ProfileChoice, validate};

fn main() -> ExitCode {
    let mut options = CheckOptions::default();
    let mut arguments = std::env::args().skip(1);
    let mut code = ExitCode::SUCCESS;
    while let Some(argument) = arguments.next() {
        if argument == "--profile" {
            let profile = arguments.next().and_then(|name| Profile::builtin(&name));
            options.profile = profile.map_or(ProfileChoice::Nothing, |profile| ProfileChoice::Given(Box::new(profile)));
            continue;
        }
        match validate(Path::new(&argument), &options) {
            Ok(report) => {
                println!("{argument}: {:?}, {} files, {} bytes", report.verdict, report.files, report.bytes);
                for problem in report.problems.iter().take(20) {
                    let (file, path) = (problem.file.as_deref().unwrap_or("-"), problem.path.as_deref().unwrap_or("-"));
                    println!(
                        "  {:?} {} {file}:{} {path}: {}",
                        problem.severity,
                        problem.code,
                        problem.line.unwrap_or(0),
                        problem.message
                    );
                }
            }
            Err(error) => {
                eprintln!("{argument}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
