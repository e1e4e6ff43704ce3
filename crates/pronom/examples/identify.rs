//! Says what the files named as arguments are.
//!
//! `cargo run -p strongroom-pronom --example identify -- letter.pdf table.xlsx`

use std::error::Error;
use std::fs::File;

use strongroom_pronom::{FileSource, Identifier, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let identifier = Identifier::builtin()?;
    eprintln!("by {}", identifier.signatures());
    for path in std::env::args().skip(1) {
        let source = FileSource::new(File::open(&path)?)?;
        let answer = identifier.identify(&path, &source, &Options::default())?;
        println!("{path}");
        for found in &answer.matches {
            let mismatch = if found.extension_mismatch { ", extension mismatch" } else { "" };
            println!("  {} {}: {}{mismatch}", found.format.puid, found.format.name, found.basis_text());
        }
        for format in &answer.candidates {
            println!("  perhaps {} {}", format.puid, format.name);
        }
        for warning in &answer.warnings {
            println!("  warning: {warning}");
        }
    }
    Ok(())
}
