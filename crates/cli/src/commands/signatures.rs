//! `signatures`: by which PRONOM signatures formats are identified at a home, and newer ones for it.

use std::io::Read as _;
use std::path::Path;

use clap::Subcommand;
use strongroom_download::{Client, DownloadError, Expected, Policy, Retries, Supervision};
use strongroom_engine::app::formats::{self, Published};
use strongroom_engine::app::views::SignaturesView;
use url::Url;

use super::reidentify::{self, Reidentify};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::progress;

/// PRONOM's release notes; the newest release comes first and names its signature file.
const RELEASE_NOTES: &str = "https://www.nationalarchives.gov.uk/aboutapps/pronom/release-notes.xml";
/// Where the National Archives publish binary signature files, by their names.
const BINARY_FILES: &str = "https://cdn.nationalarchives.gov.uk/documents/";
/// Where they publish the container signature file of the day.
const CONTAINER_FILE: &str = "https://www.nationalarchives.gov.uk/pronom/container-signature.xml";

/// No signature file and no release notes are larger.
const MAX_BYTES: u64 = 64 << 20;

/// Show, install and choose the signatures by which formats are identified
#[derive(Debug, Subcommand)]
pub(crate) enum Signatures {
    /// Show which signatures there are, those in use first; needs no data directory
    Show,
    /// Install newer signatures into the data directory and use them from now on
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
        /// Their name, as "show" names it
        name: String,
    },
    /// Identify anew the files that were identified with other signatures than those in use
    Reidentify(Reidentify),
}

pub(crate) fn run(command: Signatures, context: &Context) -> Outcome {
    match command {
        Signatures::Show => show(context),
        Signatures::Reidentify(command) => reidentify::run(&command, context),
        Signatures::Update { sources, allow_older } => update(&sources, allow_older, context),
        Signatures::Use { name } => {
            context.output.show(&formats::choose(&context.call()?, &name)?)?;
            Ok(Exit::Done)
        }
    }
}

fn show(context: &Context) -> Outcome {
    for (index, signatures) in SignaturesView::of_directory(&context.home)?.iter().enumerate() {
        if index > 0 {
            context.output.say("")?;
        }
        context.output.show(signatures)?;
    }
    Ok(Exit::Done)
}

fn update(sources: &[String], allow_older: bool, context: &Context) -> Outcome {
    let call = context.call()?;
    let bar = progress::spinner(context, "fetching signatures");
    let mut files = Vec::new();
    if sources.is_empty() {
        files.push(newest_binary()?);
        files.push(fetch(CONTAINER_FILE, &publisher())?);
    }
    for source in sources {
        files.push(if is_url(source) {
            fetch(source, &named_host(source)?)?
        } else {
            Published::read(Path::new(source))?
        });
    }
    let installed = formats::install(&call, files, allow_older)?;
    bar.finish_and_clear();
    context.output.show(&installed)?;
    context.output.say("files identified before keep their formats until \"strongroom signatures reidentify\"")?;
    Ok(Exit::Done)
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
fn publisher() -> Policy {
    let hosts = ["www.nationalarchives.gov.uk", "cdn.nationalarchives.gov.uk"].map(str::to_owned).to_vec();
    Policy { hosts, ..Policy::default() }
}

/// A URL on the command line allows its host, in any network, and no other one.
fn named_host(url: &str) -> Result<Policy, Failure> {
    let parsed = Url::parse(url).map_err(|error| {
        Failure::usage(format!("{url:?} is no URL: {error}")).next("give a file, or a URL with http or https")
    })?;
    let host = parsed.host_str().unwrap_or_default();
    let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok(Policy { hosts: vec![host], allow_private_networks: true, ..Policy::default() })
}

/// Fetches a file from allowed hosts.
fn fetch(url: &str, allowed: &Policy) -> Result<Published, Failure> {
    let failed =
        |error: DownloadError| Failure::new(Exit::OutOfReach, strongroom_engine::chain(&error)).next(by_hand());
    // A person waits.
    let retries = Retries { attempts: 2, ..Retries::default() };
    let client = Client::new(Policy { max_bytes: MAX_BYTES, retries, ..allowed.clone() }).map_err(failed)?;
    let mut body = client.open(url, Expected::default(), Supervision::default()).map_err(failed)?;
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Exit::OutOfReach, strongroom_engine::chain(&error)).next(by_hand()))?;
    let name = url.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_owned();
    Ok(Published { name, bytes })
}

fn by_hand() -> String {
    format!(
        "fetch the files on a machine that reaches {BINARY_FILES} and {CONTAINER_FILE}, and install them with \
         \"strongroom signatures update DROID_SignatureFile_VNNN.xml container-signature-YYYYMMDD.xml\""
    )
}
