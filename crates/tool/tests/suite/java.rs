//! JHOVE and veraPDF, on PDF files that are made here. They are Java programs, which reserve far more memory than they use.

use std::fmt::Write as _;
use std::path::PathBuf;

use strongroom_tool::{Outcome, Run, Tool, ready};

use crate::place::Place;

/// Where the classes of the programs are.
const CLASSES: &str = "STRONGROOM_PEERS_JAVA";

fn classes(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os(CLASSES).map(PathBuf::from);
    if found.is_none() {
        println!("SKIPPED: {what}: its classes are not at hand ({CLASSES} is not set)");
    }
    found
}

/// The tool with Java instead of the script of its installer.
fn by_java(name: &str, main: &str, more: &[&str]) -> Option<Tool> {
    let classes = classes(name)?.join(name);
    let mut tool = ready::tool(name).unwrap();
    let java = ["-Xmx256m".to_owned(), "-cp".to_owned(), format!("{}/*", classes.display()), main.to_owned()];
    let head: Vec<String> = java.into_iter().chain(more.iter().map(|&argument| argument.to_owned())).collect();
    "java".clone_into(&mut tool.program);
    tool.arguments.splice(0..0, head.clone());
    if let Some(version) = &mut tool.version {
        version.arguments.splice(0..0, head);
    }
    Some(tool)
}

/// A PDF of one empty page.
fn pdf() -> String {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources << >> >>",
    ];
    let mut text = "%PDF-1.4\n".to_owned();
    let mut table = "xref\n0 4\n0000000000 65535 f \n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", text.len()).unwrap();
        write!(text, "{} 0 obj\n{object}\nendobj\n", index + 1).unwrap();
    }
    let start = text.len();
    format!("{text}{table}trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")
}

fn run(tool: &Tool, bytes: &str) -> Run {
    let place = Place::new();
    place.write("file", bytes);
    place.run(tool.clone())
}

#[test]
fn jhove_tells_a_valid_pdf_from_one_that_is_cut() {
    let place = Place::new();
    let configuration = place.write(
        "jhove.conf",
        "<?xml version=\"1.0\"?>\n<jhoveConfig version=\"1.0\" xmlns=\"http://hul.harvard.edu/ois/xml/ns/jhove/jhoveConfig\">\n\
         <module><class>edu.harvard.hul.ois.jhove.module.PdfModule</class></module>\n</jhoveConfig>\n",
    );
    let configuration = configuration.display().to_string();
    let main = "edu.harvard.hul.ois.jhove.Jhove";
    let Some(mut tool) = by_java("jhove", main, &["-c", &configuration]) else { return };
    let valid = run(&tool, &pdf());
    assert_eq!(valid.outcome, Outcome::Pass, "{valid:?}");
    for (name, value) in
        [("module", "PDF-hul"), ("format", "PDF"), ("format_version", "1.4"), ("mime", "application/pdf")]
    {
        assert_eq!(valid.fields[name], [value], "{name}: {valid:?}");
    }
    assert_eq!(valid.version.as_deref(), Some("1.28.0"));

    tool.arguments.splice(tool.arguments.len() - 1..tool.arguments.len() - 1, ["-m", "PDF-hul"].map(str::to_owned));
    let cut = run(&tool, &pdf()[..150]);
    assert_eq!((cut.outcome, cut.message.as_str()), (Outcome::Fail, "No PDF trailer"), "{cut:?}");
    assert_eq!((&cut.fields["status"][0][..], &cut.fields["message_id"][0][..]), ("Not well-formed", "PDF-HUL-138"));
}

#[test]
fn verapdf_names_the_rules_that_a_pdf_does_not_keep() {
    let Some(tool) = by_java("verapdf", "org.verapdf.apps.GreenfieldCliWrapper", &[]) else { return };
    let not = run(&tool, &pdf());
    assert_eq!(not.outcome, Outcome::Fail, "{not:?}");
    assert_eq!(not.fields["compliant"], ["false"]);
    assert_eq!(not.fields["profile"], ["PDF/A-1B validation profile"]);
    assert!(not.fields["clause"].contains(&"6.7.2".to_owned()), "{not:?}");
    assert!(!not.message.is_empty());
    assert_eq!(not.version.as_deref(), Some("1.28.2"));

    let cut = run(&tool, &pdf()[..150]);
    assert_eq!(cut.outcome, Outcome::Fail, "{cut:?}");
    assert!(cut.fields["exception"][0].contains("startxref"), "{cut:?}");
}

#[test]
fn java_that_allocates_beyond_its_limit_is_stopped() {
    let Some(mut tool) = by_java("verapdf", "org.verapdf.apps.GreenfieldCliWrapper", &[]) else { return };
    tool.limits.memory_bytes = 60_000_000;
    tool.version = None;
    let run = run(&tool, &pdf());
    assert_eq!(run.outcome, Outcome::Error, "{run:?}");
}
