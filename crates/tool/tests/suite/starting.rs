//! A tool that cannot be started is an error of the installation, and says nothing of the file.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

use strongroom_tool::{Launcher, Runner, Subject, Tool, ToolError};

use crate::place::Place;

fn tool(program: &str) -> Tool {
    toml::from_str(&format!("name = \"t\"\nprogram = {program:?}")).unwrap()
}

fn failure_of(place: &Place, tool: Tool) -> ToolError {
    place.run_for(tool, &Subject::of(place.path("file"))).unwrap_err()
}

#[test]
fn a_program_that_is_missing_is_named() {
    let place = Place::new();
    for program in ["/nowhere/scanner", "strongroom-no-such-program"] {
        let error = failure_of(&place, tool(program));
        let ToolError::Start { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), format!("the tool t cannot be started: {program}"));
        assert!(!error.is_transient());
    }
}

#[test]
fn a_program_that_cannot_be_executed_is_named() {
    let place = Place::new();
    let path = place.write("program", "#!/bin/sh\n");
    let error = failure_of(&place, tool(path.to_str().unwrap()));
    assert!(
        matches!(&error, ToolError::Start { source, .. } if source.kind() == ErrorKind::PermissionDenied),
        "{error:?}"
    );
    // Executable, and its interpreter is missing.
    fs::write(&path, "#!/nowhere/interpreter\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    let error = failure_of(&place, tool(path.to_str().unwrap()));
    assert!(matches!(error, ToolError::Start { .. }), "{error:?}");
}

#[test]
fn a_program_is_looked_up_in_the_path_of_the_tool() {
    let place = Place::new();
    let path = place.write("looked-up", "#!/bin/sh\necho found\n");
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    let mut tool = tool("looked-up");
    tool.environment.insert("PATH".to_owned(), path.parent().unwrap().display().to_string());
    assert_eq!(place.run_for(tool, &Subject::of(place.path("file"))).unwrap().stdout, b"found\n");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = Place::new();
    for name in ["missing", "scratch"] {
        let error = place.run_for(tool("true"), &Subject::of(place.path(name))).unwrap_err();
        assert!(matches!(&error, ToolError::File { path, .. } if path.ends_with(name)), "{error:?}");
    }
}

#[test]
fn a_launcher_that_is_missing_or_another_program_is_an_error() {
    let place = Place::new();
    for program in ["/nowhere/launcher", "/bin/true"] {
        let launcher = Launcher { program: program.into(), arguments: Vec::new() };
        let runner = Runner::new(launcher, place.path("scratch"));
        let error =
            runner.run(&tool("true").prepare().unwrap(), &Subject::of(place.path("file")), &|| Ok(())).unwrap_err();
        assert!(matches!(error, ToolError::Launcher { .. }), "{error:?}");
        assert_eq!(place.working_folders(), 0);
    }
}

#[test]
fn configurations_that_are_not_valid_are_refused() {
    for (more, reason) in [
        ("arguments = [\"{nothing}\"]", "placeholder"),
        ("arguments = [\"{name}\"]", "begin"),
        ("limits = { wall_seconds = 0 }", "limit is 0"),
        ("rules = [{ field = \"x\", matches = \"y\", outcome = \"pass\" }]", "field \"x\""),
        ("rules = [{ matches = \"(\", outcome = \"pass\" }]", "pattern"),
        ("output = { format = \"pattern\" }", "pattern"),
        ("output = { format = \"json\", fields = { a = \"b\" } }", "JSON Pointer"),
        ("output = { format = \"xml\", fields = { a = \"/b\" } }", "step"),
        ("output = { fields = { a = \"/b\" } }", "fields"),
        ("output = { message = \"a\" }", "message"),
        ("environment = { \"a=b\" = \"c\" }", "variable"),
        ("environment = { TMPDIR = \"/tmp\" }", "TMPDIR"),
        ("limits = { wall_seconds = 1_000_000_000_000 }", "limit on time"),
        ("environment = { a = \"\\u0000\" }", "zero byte"),
    ] {
        let tool: Tool = toml::from_str(&format!("name = \"t\"\nprogram = \"p\"\n{more}")).unwrap();
        let error = tool.prepare().unwrap_err();
        assert!(
            matches!(&error, ToolError::Configuration { .. }) && error.to_string().contains(reason),
            "{more}: {error}"
        );
    }
    assert!(tool("relative/path").prepare().is_err());
    assert!(toml::from_str::<Tool>("name = \"t\"\nprogram = \"p\"\nshell = true").is_err());
}
