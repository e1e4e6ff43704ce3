//! `signatures`: by which PRONOM signatures formats are identified at a home, and newer ones for it.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use strongroom_bagit::fetch::{FetchOptions, Fetcher};
use strongroom_engine::signatures::{self, BUILT_IN, Named, Published, SignaturesError};
use strongroom_pronom::{Release, SignatureSet};
use url::Url;

use super::reidentify::{self, Reidentify};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::progress;

/// PRONOM's release notes; the newest release comes first and names its signature file.
const RELEASE_NOTES: &str = "https://www.nationalarchives.gov.uk/aboutapps/pronom/release-notes.xml";
/// Where the National Archives publish binary signature files, by their names.
const BINARY_FILES: &str = "https://cdn.nationalarchives.gov.uk/documents/";
/// Where they publish the container signature file of the day.
const CONTAINER_FILE: &str = "https://www.nationalarchives.gov.uk/pronom/container-signature.xml";

/// No signature file and no release notes are larger.
const MOST_BYTES: u64 = 64 << 20;

/// Show, install and choose the signatures by which formats are identified
#[derive(Debug, Subcommand)]
pub(crate) enum Signatures {
    /// Show which signatures there are, those in use first; needs no home
    Show,
    /// Install newer signatures into the home and use them from now on
    #[command(after_help = "Whatever is given is checked before anything is replaced; a file that is not given stays \
                            as it is in use. Without files, the newest are asked for at the National Archives: \
                            www.nationalarchives.gov.uk and cdn.nationalarchives.gov.uk.")]
    Update {
        /// The binary signature file, the container signature file, or both: DROID's XML, as files or URLs
        #[arg(value_name = "FILE|URL", num_args = 0..=2)]
        sources: Vec<String>,
        /// Install them even if they are older than those in use
        #[arg(long)]
        allow_older: bool,
    },
    /// Use other signatures that are installed, or the built-in ones
    Use {
        /// Their name, as "show" tells it
        name: String,
    },
    /// Identify anew the files that were identified with other signatures than those in use
    Reidentify(Reidentify),
}

report! {
    /// A pair of signature files.
    SignaturesReport {
        name: String,
        in_use: bool,
        binary: Option<String>,
        binary_version: Option<String>,
        binary_created: Option<String>,
        binary_sha256: Option<String>,
        container: Option<String>,
        container_version: Option<String>,
        container_sha256: Option<String>,
        formats: usize,
        byte_signatures: usize,
        container_signatures: usize,
        problem: Option<String>,
    }
}

pub(crate) fn run(command: Signatures, context: &Context) -> Outcome {
    match command {
        Signatures::Show => show(context),
        Signatures::Reidentify(command) => reidentify::run(&command, context),
        Signatures::Update { sources, allow_older } => update(&sources, allow_older, context),
        Signatures::Use { name } => {
            tell_use(&signatures::choose(&context.home, &name)?, context)?;
            Ok(Exit::Done)
        }
    }
}

fn show(context: &Context) -> Outcome {
    let used = signatures::current(&context.home)?;
    let mut others = signatures::installed(&context.home)?;
    others.retain(|name| *name != used);
    if used != BUILT_IN {
        others.push(BUILT_IN.to_owned());
    }
    // What is in use has to be sound; of the others it is told if they are not.
    context.output.show(&described(&used, true, &signatures::read(&context.home, &used)?))?;
    for name in others {
        context.output.say("")?;
        context.output.show(&match signatures::read(&context.home, &name) {
            Ok(set) => described(&name, false, &set),
            Err(error) => damaged(&name, &error),
        })?;
    }
    Ok(Exit::Done)
}

fn update(sources: &[String], allow_older: bool, context: &Context) -> Outcome {
    let bar = progress::spinner(context, "fetching signatures");
    let mut published = Vec::new();
    if sources.is_empty() {
        published.push(newest_binary()?);
        published.push(fetch(CONTAINER_FILE, &publisher())?);
    }
    for source in sources {
        published.push(if is_url(source) {
            fetch(source, &named_host(source)?)?
        } else {
            signatures::publish(Path::new(source))?
        });
    }
    let (mut binary, mut container) = (None, None);
    for file in published {
        let (place, what) = if is_container(&file) { (&mut container, "container") } else { (&mut binary, "binary") };
        if let Some(Published { name, .. }) = place.replace(file) {
            return Err(Failure::usage(format!("{name:?} and the other file are both {what} signature files"))
                .next("give one binary and one container signature file"));
        }
    }
    let named =
        signatures::install(&context.home, binary.as_ref(), container.as_ref(), allow_older).map_err(|error| {
            let is_older = matches!(error, SignaturesError::Older(_));
            let failure = Failure::from(error);
            if is_older { failure.next("insist with --allow-older") } else { failure }
        })?;
    bar.finish_and_clear();
    tell_use(&named, context)?;
    context.output.say("files identified before keep their formats until \"strongroom signatures reidentify\"")?;
    Ok(Exit::Done)
}

fn tell_use(named: &Named, context: &Context) -> Result<(), Failure> {
    context.output.show(&described(&named.name, true, &named.set))
}

fn described(name: &str, in_use: bool, set: &SignatureSet) -> SignaturesReport {
    let container = set.container.as_ref();
    let text = |value: fn(&Release) -> &String| container.map(|release| value(release).clone());
    SignaturesReport {
        name: name.to_owned(),
        in_use,
        binary: Some(set.binary.name.clone()),
        binary_version: Some(set.binary.version.clone()),
        binary_created: set.binary.created.clone(),
        binary_sha256: Some(set.binary.sha256.clone()),
        container: text(|release| &release.name),
        container_version: text(|release| &release.version),
        container_sha256: text(|release| &release.sha256),
        formats: set.formats.len(),
        byte_signatures: set.signatures.len(),
        container_signatures: set.containers.len(),
        problem: None,
    }
}

fn damaged(name: &str, error: &SignaturesError) -> SignaturesReport {
    SignaturesReport {
        name: name.to_owned(),
        in_use: false,
        binary: None,
        binary_version: None,
        binary_created: None,
        binary_sha256: None,
        container: None,
        container_version: None,
        container_sha256: None,
        formats: 0,
        byte_signatures: 0,
        container_signatures: 0,
        problem: Some(strongroom_engine::chain(error)),
    }
}

/// Whether this is the container file of a pair. The root elements differ; what is neither is told when it is read.
fn is_container(file: &Published) -> bool {
    let beginning = file.bytes.get(..file.bytes.len().min(4096)).unwrap_or_default();
    String::from_utf8_lossy(beginning).contains("<ContainerSignatureMapping")
}

fn is_url(source: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| source.to_ascii_lowercase().starts_with(scheme))
}

/// Fetches the binary signature file that the release notes name first.
fn newest_binary() -> Result<Published, Failure> {
    const ELEMENT: &str = "<signature_filename>";
    let notes = fetch(RELEASE_NOTES, &publisher())?;
    let text = String::from_utf8_lossy(&notes.bytes);
    let name = text.split_once(ELEMENT).and_then(|(_, rest)| rest.split_once('<')).map(|(name, _)| name.trim());
    let name = name.filter(|name| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) && !name.is_empty()
    });
    let name = name.ok_or_else(|| {
        let message = format!("the release notes at {RELEASE_NOTES} name no signature file");
        Failure::new(Exit::OutOfReach, message).next(by_hand())
    })?;
    fetch(&format!("{BINARY_FILES}{name}"), &publisher())
}

/// Where the newest files are asked for.
fn publisher() -> FetchOptions {
    let hosts = ["www.nationalarchives.gov.uk", "cdn.nationalarchives.gov.uk"].map(str::to_owned).to_vec();
    FetchOptions { hosts, ..FetchOptions::default() }
}

/// Whoever types a URL means its host, in whatever network it is, and no other one.
fn named_host(url: &str) -> Result<FetchOptions, Failure> {
    let parsed = Url::parse(url).map_err(|error| Failure::usage(format!("{url:?} is no URL: {error}")))?;
    let host = parsed.host_str().unwrap_or_default();
    let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok(FetchOptions { hosts: vec![host], allow_private_networks: true, ..FetchOptions::default() })
}

/// Fetches a file from allowed hosts.
fn fetch(url: &str, allowed: &FetchOptions) -> Result<Published, Failure> {
    let options = FetchOptions { most_bytes: MOST_BYTES, timeout: Duration::from_mins(5), ..allowed.clone() };
    let failed =
        |reason: String| Failure::new(Exit::OutOfReach, format!("could not fetch {url}: {reason}")).next(by_hand());
    let download = Fetcher::new(&options)
        .open(url)
        .map_err(|error| Failure::new(Exit::OutOfReach, strongroom_engine::chain(&error)).next(by_hand()))?;
    let mut bytes = Vec::new();
    download.body.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(failed(format!("it has more than {MOST_BYTES} bytes")));
    }
    if download.length.is_some_and(|length| length != bytes.len() as u64) {
        return Err(failed(format!("it ended after {} bytes", bytes.len())));
    }
    let name = url.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_owned();
    Ok(Published { name, bytes })
}

fn by_hand() -> String {
    format!(
        "fetch the files on a machine that reaches {BINARY_FILES} and {CONTAINER_FILE}, and install them with \
         \"strongroom signatures update DROID_SignatureFile_VNNN.xml container-signature-YYYYMMDD.xml\""
    )
}
