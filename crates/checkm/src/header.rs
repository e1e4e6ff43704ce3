//! The header of a manifest: declaration, profile, prefixes and the list of columns.

use crate::codes::{self, Rule};
use crate::column::Column;
use crate::forms::trim;
use crate::mode::ReadOptions;
use crate::problem::{Problem, quoted};
use crate::profile::ManifestProfile;

/// The declaration that a manifest begins with.
pub(crate) const DECLARATION: &str = "checkm_0.7";

/// What the header of a manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub(crate) profile: Option<ManifestProfile>,
    pub(crate) columns: Vec<Option<Column>>,
    /// Where each column is, by its number in [`Column::ALL`].
    pub(crate) positions: [Option<usize>; Column::COUNT],
}

impl Header {
    /// What the rows are; nothing where the manifest does not say, or names an unknown profile.
    pub fn profile(&self) -> Option<ManifestProfile> {
        self.profile
    }

    /// The columns in the order of the manifest; nothing for one that is not known.
    pub fn columns(&self) -> &[Option<Column>] {
        &self.columns
    }

    pub(crate) fn position(&self, column: Column) -> Option<usize> {
        self.positions.get(column as usize).copied().flatten()
    }

    /// Lists a column after the others.
    pub(crate) fn push(&mut self, column: Option<Column>) {
        if let Some(position) = column.and_then(|column| self.positions.get_mut(column as usize)) {
            position.get_or_insert(self.columns.len());
        }
        self.columns.push(column);
    }
}

/// A directive: what follows `#%` up to white space or a column mark, and the parts after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directive<'a> {
    pub(crate) name: &'a str,
    rest: &'a str,
}

impl<'a> Directive<'a> {
    /// The directive of a line without white space at its ends.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let text = line.strip_prefix("#%")?;
        let end = text.find([' ', '\t', '|']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        Some(Self { name, rest })
    }

    pub(crate) fn is(self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The parts between column marks; the mark after the name may be missing.
    fn parts(self) -> impl Iterator<Item = &'a str> {
        let rest = trim(self.rest);
        rest.strip_prefix('|').unwrap_or(rest).split('|').map(trim)
    }
}

/// Takes the lines of a header.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether a line was met")]
pub(crate) struct HeaderBuilder {
    header: Header,
    has_declaration: bool,
    has_profile: bool,
    has_fields: bool,
    is_any_line: bool,
}

impl HeaderBuilder {
    /// Takes a comment, or any other line that is not blank.
    pub(crate) fn other_line(&mut self) {
        self.is_any_line = true;
    }

    pub(crate) fn directive(
        &mut self,
        directive: Directive<'_>,
        line: u64,
        options: &ReadOptions,
        report: &mut dyn FnMut(Problem),
    ) {
        let mut tell = |rule: Rule, message: String| report(Problem::new(rule, options.mode, message).at_line(line));
        let is_first = !self.is_any_line;
        self.other_line();
        if directive.name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("checkm")) {
            if self.has_declaration {
                tell(codes::DIRECTIVE_REPEATED, format!("#%{DECLARATION} occurs again; expected once"));
            } else if !is_first {
                let message = format!("#%{DECLARATION} comes after other lines; expected on the first line");
                tell(codes::DECLARATION_MISSING, message);
            }
            self.has_declaration = true;
            if directive.name != DECLARATION {
                let found = quoted(&format!("#%{}", directive.name));
                tell(codes::DECLARATION_VERSION, format!("the declaration is {found}; expected #%{DECLARATION}"));
            }
        } else if directive.is("profile") {
            if std::mem::replace(&mut self.has_profile, true) {
                tell(codes::DIRECTIVE_REPEATED, "#%profile occurs again; expected once".to_owned());
                return;
            }
            self.profile(directive, &mut tell, options);
        } else if directive.is("fields") || directive.is("columns") {
            if std::mem::replace(&mut self.has_fields, true) {
                tell(codes::DIRECTIVE_REPEATED, format!("#%{} lists columns again; expected once", directive.name));
                return;
            }
            self.fields(directive, line, options, report);
        } else if directive.is("prefix") {
            let parts: Vec<&str> = directive.parts().collect();
            // Merritt's own programs write the prefix and the URI as one part.
            let is_right = match parts.as_slice() {
                [prefix, uri] => prefix.ends_with(':') && prefix.len() > 1 && !uri.is_empty(),
                [both] => both.split_once(':').is_some_and(|(prefix, uri)| !prefix.is_empty() && uri.len() > 2),
                _ => false,
            };
            if !is_right {
                let message = format!(
                    "#%prefix has {}; expected a prefix with a colon, |, and a URI",
                    quoted(trim(directive.rest))
                );
                tell(codes::PREFIX_MALFORMED, message);
            }
        } else {
            let name = quoted(&format!("#%{}", directive.name));
            tell(codes::DIRECTIVE_UNKNOWN, format!("{name} is no directive of Checkm; it is ignored"));
        }
    }

    fn profile(&mut self, directive: Directive<'_>, tell: &mut dyn FnMut(Rule, String), options: &ReadOptions) {
        let uri = directive.parts().find(|part| !part.is_empty()).unwrap_or_default();
        match ManifestProfile::of_uri(uri) {
            Some((profile, is_spelled)) => {
                self.header.profile = Some(profile);
                if !is_spelled {
                    let message = format!("the profile is {}; expected {}", quoted(uri), profile.uri());
                    tell(codes::PROFILE_SPELLING, message);
                }
                if let Some(wanted) = options.profile.filter(|wanted| *wanted != profile) {
                    tell(codes::PROFILE_MISMATCH, format!("the profile is {profile}; expected {wanted}"));
                }
            }
            None if options.profile.is_none() => {
                let known: Vec<&str> = ManifestProfile::ALL.into_iter().map(ManifestProfile::name).collect();
                let message =
                    format!("the profile is {}; expected the URI of one of {}", quoted(uri), known.join(", "));
                tell(codes::PROFILE_UNKNOWN, message);
            }
            None => {}
        }
    }

    fn fields(&mut self, directive: Directive<'_>, line: u64, options: &ReadOptions, report: &mut dyn FnMut(Problem)) {
        let mut tell = |rule: Rule, name: &str, message: String| {
            report(Problem::new(rule, options.mode, message).at_line(line).with_value(name));
        };
        let most = options.limits.columns;
        for (at, name) in directive.parts().enumerate() {
            if at >= most {
                let message = format!("#%{} lists more than {most} columns, which is the limit", directive.name);
                tell(codes::LIMIT_COLUMNS, name, message);
                break;
            }
            let known = Column::named(name);
            match known {
                None => {
                    let (rule, expected) = match Column::misspelled(name) {
                        Some(column) => (codes::FIELDS_MISSPELLED, column.name()),
                        None => (codes::FIELDS_UNKNOWN, "one of Merritt's columns"),
                    };
                    tell(rule, name, format!("column {} is {}; expected {expected}", at + 1, quoted(name)));
                }
                Some((column, is_prefixed)) => {
                    if !is_prefixed {
                        let message = format!("column {} is {}; expected {column}", at + 1, quoted(name));
                        tell(codes::FIELDS_PREFIX, name, message);
                    }
                    if self.header.position(column).is_some() {
                        let message = format!("column {} is {column} again; expected once", at + 1);
                        tell(codes::FIELDS_REPEATED, name, message);
                    }
                }
            }
            self.header.push(known.map(|(column, _)| column));
        }
    }

    /// Ends the header before the line of this number: says what is missing.
    pub(crate) fn finish(mut self, line: u64, options: &ReadOptions, report: &mut dyn FnMut(Problem)) -> Header {
        let mut tell = |rule: Rule, message: String| {
            report(Problem::new(rule, options.mode, message).at_line(line));
        };
        if !self.has_declaration {
            tell(
                codes::DECLARATION_MISSING,
                format!("there is no declaration; expected #%{DECLARATION} on the first line"),
            );
        }
        if self.header.profile.is_none() {
            match options.profile {
                Some(profile) => {
                    let message = format!(
                        "the manifest names no profile that is known; {profile} is taken, as stated by the caller"
                    );
                    tell(codes::PROFILE_ASSUMED, message);
                    self.header.profile = Some(profile);
                }
                None if !self.has_profile => {
                    let example = ManifestProfile::Object.uri();
                    tell(
                        codes::PROFILE_MISSING,
                        format!("there is no profile; expected #%profile | {example}, or another"),
                    );
                }
                None => {}
            }
        }
        if !self.has_fields {
            let message = "there is no list of columns; expected #%fields before the first row".to_owned();
            tell(codes::FIELDS_MISSING, message);
            let columns = self.header.profile.map(ManifestProfile::columns).unwrap_or_default();
            for column in columns {
                self.header.push(Some(*column));
            }
        }
        let header = self.header;
        let has = |column| header.position(column).is_some();
        if !has(Column::FileUrl) && self.has_fields {
            tell(codes::FIELDS_NO_URL, format!("no column is {}; expected it, and no row is read", Column::FileUrl));
        }
        for (one, other) in [(Column::HashAlgorithm, Column::HashValue), (Column::HashValue, Column::HashAlgorithm)] {
            if has(one) && !has(other) {
                tell(codes::FIELDS_DIGEST, format!("there is a column {one}; expected a column {other} too"));
            }
        }
        if let Some(profile) = header.profile {
            for column in Column::ALL.into_iter().filter(|column| has(*column) && !profile.has(*column)) {
                tell(codes::FIELDS_NOT_OF_PROFILE, format!("column {column} does not belong to {profile}"));
            }
        }
        header
    }
}
