//! `cargo xtask signatures`: makes the signatures that ship with the program, and the page that says where they come from,
//! out of a pair of DROID's signature files.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use strongroom_pronom::xml::{self, Document};
use strongroom_pronom::{Release, SignatureSet, compiled};

use crate::place;

/// Where the files were had. Change this where newer ones come from elsewhere.
const ORIGIN: &str = "\
Both files were taken from the Go module `github.com/richardlehane/siegfried`, version v1.11.8, where they lie under
`cmd/roy/data`.";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let [binary_path, container_path] = arguments else { bail!("signatures takes BINARY.xml and CONTAINER.xml") };
    let read = |path: &String| std::fs::read(path).with_context(|| format!("cannot read {path}"));
    let (binary, container) = (read(binary_path)?, read(container_path)?);
    let set = xml::read(
        Document { name: Some(binary_path), bytes: &binary },
        Some(Document { name: Some(container_path), bytes: &container }),
    )?;
    for reason in &set.skipped {
        println!("left out: {reason}");
    }
    let bytes = compiled::encode(&set)?;
    let folder = place::root().join("crates/pronom/data");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    write(&folder.join("signatures.bin"), &bytes)?;
    write(&folder.join("README.md"), page(&set)?.as_bytes())?;
    println!(
        "{} formats, {} signatures, {} container signatures, {} bytes",
        set.formats.len(),
        set.signatures.len(),
        set.containers.len(),
        bytes.len()
    );
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn page(set: &SignatureSet) -> Result<String> {
    let binary = &set.binary;
    let container = set.container.as_ref().context("there is no container signature file")?;
    let created = binary.created.as_deref().unwrap_or("unknown");
    let row = |release: &Release| format!("| `{}.xml` | {} | `{}` |", release.name, release.version, release.sha256);
    Ok(format!(
        "\
# The signatures that ship with the program

`signatures.bin` is the compact form (`strongroom_pronom::compiled`) of two signature files of PRONOM, the registry of file
formats of The National Archives (UK):

| file | version | SHA-256 |
|---|---|---|
{}
{}

{ORIGIN}
The first says that it was made at {created}.

Together: {} formats, {} byte signatures, {} container signatures.

## Licence

The National Archives publish PRONOM under the
[Open Government Licence v3.0](https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/):

> Contains public sector information licensed under the Open Government Licence v3.0.

## Made anew

```
cargo xtask signatures {}.xml {}.xml
```

writes `signatures.bin` and this page. Whoever runs the program may also give it a newer pair of XML files.
",
        row(binary),
        row(container),
        set.formats.len(),
        set.signatures.len(),
        set.containers.len(),
        binary.name,
        container.name,
    ))
}
