//! The options of a harvest, and what they say of the source.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;
use strongroom_registry::Origin;
use url::Url;

use crate::EngineError;
use crate::activities::options::many;
use crate::activities::repeats::mark;

/// The format that every provider of OAI-PMH has (section 3.4).
const DEFAULT_PREFIX: &str = "oai_dc";
/// Where the identifier of a record is in JSON.
pub(super) const DEFAULT_ID: &str = "/id";

/// What kind of source it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Oai,
    Json,
    Jsonl,
    Marcxml,
    Folder,
}

impl Kind {
    /// Whether its records are files of the server.
    pub(super) fn is_of_files(self) -> bool {
        matches!(self, Self::Marcxml | Self::Folder)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Oai => "oai",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Marcxml => "marcxml",
            Self::Folder => "folder",
        }
    }
}

/// How the pages of an API follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PagingKind {
    #[default]
    One,
    Number,
    Offset,
    Next,
    Link,
}

/// The options, as the activity keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    pub(super) kind: Kind,
    pub(super) url: Option<String>,
    pub(super) path: Option<PathBuf>,
    pub(super) prefix: Option<String>,
    #[serde(deserialize_with = "many")]
    pub(super) set: Vec<String>,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
    pub(super) records: Option<String>,
    pub(super) id: Option<String>,
    pub(super) datestamp: Option<String>,
    pub(super) deleted: Option<String>,
    pub(super) paging: PagingKind,
    pub(super) parameter: Option<String>,
    pub(super) element: Option<String>,
}

impl Options {
    /// Whether the options that are given go with each other and with the kind of source.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        let of_kind = |is_fit: bool, name: &'static str, is_given: bool| (!is_fit && is_given).then_some(name);
        let is_json = matches!(self.kind, Kind::Json | Kind::Jsonl);
        let is_oai = self.kind == Kind::Oai;
        let unfit = [
            of_kind(!self.kind.is_of_files(), "url", self.url.is_some()),
            of_kind(self.kind.is_of_files(), "path", self.path.is_some()),
            of_kind(is_oai, "prefix", self.prefix.is_some()),
            of_kind(is_oai, "set", !self.set.is_empty()),
            of_kind(is_oai, "from", self.from.is_some()),
            of_kind(is_oai, "until", self.until.is_some()),
            of_kind(self.kind == Kind::Json, "records", self.records.is_some()),
            of_kind(is_json || self.kind == Kind::Folder, "id", self.id.is_some()),
            of_kind(is_json, "datestamp", self.datestamp.is_some()),
            of_kind(is_json, "deleted", self.deleted.is_some()),
            of_kind(is_json, "paging", self.paging != PagingKind::One),
            of_kind(is_json, "parameter", self.parameter.is_some()),
            of_kind(self.kind == Kind::Folder, "element", self.element.is_some()),
        ];
        if let Some(name) = unfit.into_iter().flatten().next() {
            return Err(wrong(&format!("the option {name} does not go with kind={}", self.kind.as_str())));
        }
        let (needed, is_given) =
            if self.kind.is_of_files() { ("path", self.path.is_some()) } else { ("url", self.url.is_some()) };
        if !is_given {
            return Err(wrong(&format!("a harvest with kind={} needs the option {needed}", self.kind.as_str())));
        }
        if matches!(self.paging, PagingKind::Number | PagingKind::Offset | PagingKind::Next) && self.parameter.is_none()
        {
            return Err(wrong("with this paging the option parameter says where the page is named"));
        }
        if self.element.is_some() && self.id.is_none() {
            return Err(wrong("with the option element the option id says where the identifier of a record is"));
        }
        self.window(None).map(drop)
    }

    /// The format that is asked for.
    pub(super) fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or(DEFAULT_PREFIX)
    }

    /// The window of dates; what changed since the last harvest where no beginning is given.
    pub(super) fn window(
        &self,
        watermark: Option<&str>,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>), EngineError> {
        let from = self.from.as_deref().or(watermark).map(|text| time("from", text, "T00:00:00Z")).transpose()?;
        let until = self.until.as_deref().map(|text| time("until", text, "T23:59:59Z")).transpose()?;
        Ok((from, until))
    }

    /// Where the records are: the URL without its query, which may contain secrets, or the path.
    pub(super) fn location(&self) -> String {
        let path = || self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let Some(url) = &self.url else { return path() };
        match Url::parse(url) {
            Ok(mut url) => {
                url.set_query(None);
                url.set_fragment(None);
                url.into()
            }
            Err(_) => url.clone(),
        }
    }

    /// What the query of the URL is known by: it may say which source it is, and may contain secrets.
    fn query_mark(&self) -> String {
        let url = self.url.as_deref().and_then(|url| Url::parse(url).ok());
        url.as_ref().and_then(Url::query).map_or_else(|| "-".to_owned(), mark)
    }

    /// What identifies the source of a record: where it is, and what besides says which record is meant by an identifier there. The sets
    /// and dates of a harvest do not, since an identifier is that of one record in all of them (OAI-PMH section 2.4).
    pub(super) fn origin(&self) -> Origin {
        let is_set = |value: &Option<String>, default: &str| value.clone().filter(|value| value != default);
        let parts = [
            ("query", Some(self.query_mark()).filter(|mark| mark != "-")),
            ("prefix", is_set(&self.prefix, DEFAULT_PREFIX)),
            ("records", is_set(&self.records, "")),
            ("element", self.element.clone()),
            ("id", is_set(&self.id, DEFAULT_ID)),
        ];
        let said = parts.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}")));
        Origin { location: self.location(), part: Some(said.collect::<Vec<_>>().join(", ")) }
    }

    /// Whether these are of the same source, whichever sets and dates of it are read.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.origin() == other.origin()
    }

    /// Whether what they made may be in a document of both: documents of other parts of a location were the same before parts were told apart.
    pub(super) fn may_share(&self, other: &Self) -> bool {
        !self.is_of(other) && self.location() == other.location()
    }

    /// What is the same in all harvests of the same records.
    pub(super) fn name(&self) -> String {
        let mut sets = self.set.clone();
        sets.sort_unstable();
        let (kind, location, query) = (self.kind.as_str(), self.location(), self.query_mark());
        format!("harvest {kind} {location} {query} {} {}", self.prefix(), sets.join(" "))
    }

    /// Whether the id of a failed record is that of a set, or of another source than a provider: it cannot be asked for by itself.
    pub(super) fn is_asked_for_alone(&self, record: &str) -> bool {
        self.kind == Kind::Oai && !self.set.iter().any(|set| super::fit_id(&format!("set {set}")) == record)
    }

    /// Whether a list may have no end: that of pages that lead to each other.
    pub(super) fn has_pages(&self) -> bool {
        self.kind == Kind::Oai || self.paging != PagingKind::One
    }
}

/// A time as people write it: a day, or a second in UTC.
fn time(option: &str, text: &str, rest_of_day: &str) -> Result<Timestamp, EngineError> {
    let whole = if text.len() == 10 { format!("{text}{rest_of_day}") } else { text.to_owned() };
    whole.parse().map_err(|_| {
        wrong(&format!(
            "the option {option} is {text:?}, and has to be a day such as 2026-01-31, or 2026-01-31T12:00:00Z"
        ))
    })
}

fn wrong(text: &str) -> EngineError {
    EngineError::Usage(text.to_owned()).next("\"strongroom activity agents\" lists the options of each agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_do_not_go_with_the_kind_are_refused() {
        for options in [
            Options {
                url: Some("https://example.edu/oai".into()),
                element: Some("record".into()),
                ..Options::default()
            },
            Options { kind: Kind::Folder, url: Some("https://example.edu".into()), ..Options::default() },
            Options {
                kind: Kind::Json,
                url: Some("https://example.edu".into()),
                set: vec!["a".into()],
                ..Options::default()
            },
            Options {
                kind: Kind::Json,
                paging: PagingKind::Next,
                url: Some("https://example.edu".into()),
                ..Options::default()
            },
            Options { url: Some("https://example.edu".into()), from: Some("yesterday".into()), ..Options::default() },
            Options::default(),
        ] {
            assert!(options.check().is_err(), "{options:?}");
        }
    }

    #[test]
    fn what_says_which_record_is_meant_is_part_of_the_origin() {
        let options = |change: fn(&mut Options)| {
            let mut options = Options { url: Some("https://example.edu/oai".into()), ..Options::default() };
            change(&mut options);
            options
        };
        let whole = options(|_| ());
        for (change, part) in [
            ((|_| ()) as fn(&mut Options), ""),
            (|options| options.prefix = Some("oai_dc".into()), ""),
            (|options| options.id = Some("/id".into()), ""),
            (|options| options.set = vec!["maps".into()], ""),
            (|options| options.from = Some("2026-01-01".into()), ""),
            (|options| options.prefix = Some("marcxml".into()), "prefix marcxml"),
            (|options| options.records = Some("/docs".into()), "records /docs"),
            (|options| options.element = Some("ead".into()), "element ead"),
            (|options| options.id = Some("/key".into()), "id /key"),
        ] {
            let changed = options(change);
            assert_eq!(changed.origin().to_string() == "https://example.edu/oai", part.is_empty());
            assert_eq!(changed.origin().part.as_deref(), Some(part));
            assert_eq!((changed.is_of(&whole), changed.may_share(&whole)), (part.is_empty(), !part.is_empty()));
        }
        let with_query = options(|options| options.url = Some("https://example.edu/oai?key=letmein".into()));
        assert!(with_query.origin().part.is_some_and(|part| part.starts_with("query ") && !part.contains("letmein")));
    }

    #[test]
    fn a_day_begins_and_ends_the_window() {
        let options =
            Options { from: Some("2026-01-31".into()), until: Some("2026-01-31".into()), ..Options::default() };
        let (from, until) = options.window(None).expect("a window");
        assert_eq!(from.map(|time| time.to_string()).as_deref(), Some("2026-01-31T00:00:00Z"));
        assert_eq!(until.map(|time| time.to_string()).as_deref(), Some("2026-01-31T23:59:59Z"));
    }
}
