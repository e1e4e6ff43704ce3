//! The sources of both chains, and the tool of the second one.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use strongroom_oai_double::{OaiDouble, OaiFault, OaiRecord};
use strongroom_web_double::Reply;

/// Where the JSON Lines are.
const LINES: &str = "/records.jsonl";
/// Lines of a page.
const PAGE: u64 = 100;
/// One line of so many is no JSON.
const BROKEN_LINE: u64 = 397;
/// One line of so many repeats an earlier one.
const REPEATED_LINE: u64 = 211;
/// One record of so many of the provider is deleted, and one cannot be read at first.
const DELETED: u64 = 9;
const UNREADABLE: u64 = 5;
/// While this file is there, the tool cannot tell anything.
const TROUBLE: &str = "trouble";

/// How many records there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size {
    /// Lines of the first chain.
    pub(crate) records: u64,
    /// Records of the provider of the second one.
    pub(crate) share: u64,
}

impl Size {
    /// That of two chains, of which the second has a hundredth.
    pub(crate) fn of(records: u64) -> Self {
        Self { records, share: (records / 100).max(20) }
    }
}

/// The servers.
pub(super) struct Source {
    provider: OaiDouble,
}

fn line(number: u64) -> String {
    match number {
        _ if number % BROKEN_LINE == BROKEN_LINE - 1 => format!("{{\"id\": \"{number}"),
        _ if number % REPEATED_LINE == REPEATED_LINE - 1 => line(number - PAGE - 7),
        _ => format!("{{\"id\": \"urn:record:{number}\", \"title\": \"Record {number}\"}}"),
    }
}

fn records(share: u64) -> Vec<OaiRecord> {
    let record = |number| {
        let record = OaiRecord::new(&format!("oai:chain:{number}"), "2024-01-01T00:00:00Z");
        if number % DELETED == DELETED - 1 { record.deleted() } else { record }
    };
    (0..share).map(record).collect()
}

impl Source {
    pub(super) fn start(size: Size) -> Self {
        let provider = OaiDouble::start(records(size.share));
        provider.web().answer(LINES, move |request| {
            let page: u64 = request.query.strip_prefix("page=").and_then(|text| text.parse().ok()).unwrap_or(1);
            let lines = (page.saturating_sub(1) * PAGE..page * PAGE).take_while(|number| *number < size.records);
            Reply::ok(lines.map(|number| line(number) + "\n").collect::<String>().into_bytes())
        });
        Self { provider }
    }

    /// What goes wrong from the beginning: records that cannot be read, a token that expires, and a tool that cannot tell.
    pub(super) fn trouble(&self, folder: &Path) -> Result<()> {
        self.provider.change(|records| {
            for record in records.iter_mut().step_by(usize::try_from(UNREADABLE).unwrap_or(1)) {
                *record = record.clone().titled(b"\xff\xfe");
            }
        });
        self.provider.on(OaiFault::ExpiredToken { offset: 10, times: 1 });
        fs::write(folder.join(TROUBLE), "").context("cannot make the trouble of the tool")
    }

    /// Puts everything right.
    pub(super) fn mend(&self, folder: &Path, size: Size) -> Result<()> {
        self.provider.change(|known| *known = records(size.share));
        self.provider.mend();
        let trouble = folder.join(TROUBLE);
        if trouble.exists() {
            fs::remove_file(&trouble).context("cannot end the trouble of the tool")?;
        }
        Ok(())
    }

    /// The host and port of both.
    pub(super) fn authority(&self) -> String {
        self.provider.web().authority()
    }

    /// The options of the harvest of JSON Lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let url = self.provider.web().url(LINES);
        vec!["kind=jsonl".to_owned(), format!("url={url}"), "paging=number".to_owned(), "parameter=page".to_owned()]
    }

    /// The options of the harvest of the provider.
    pub(super) fn provider(&self) -> Vec<String> {
        vec![format!("url={}", self.provider.base_url())]
    }
}

/// Puts the tool into the settings of a home in this folder: it counts the bytes of its file.
pub(super) fn configure_tool(folder: &Path) -> Result<()> {
    let home = folder.join("home");
    let script = "if [ -e \"$2\" ]; then exit 9; fi; wc -c < \"$1\"";
    let trouble = folder.join(TROUBLE);
    let configuration = format!(
        "name = \"bytes\"\nprogram = \"/bin/sh\"\n\
         arguments = [\"-c\", '{script}', \"sh\", \"{{file}}\", '{}']\n\
         rules = [{{ exit = [0], outcome = \"pass\" }}, {{ exit = [9], outcome = \"error\" }}]\n\
         output = {{ format = \"pattern\", pattern = '(?P<bytes>\\d+)' }}\n",
        trouble.display()
    );
    fs::write(home.join("bytes.toml"), configuration).context("cannot write the configuration of the tool")?;
    let file = home.join("strongroom.toml");
    let settings = fs::read_to_string(&file).context("cannot read the settings")?;
    fs::write(&file, settings + "\n[tools.bytes]\nconfiguration = \"bytes.toml\"\n")
        .context("cannot write the settings")
}
