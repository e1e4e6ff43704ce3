//! A policy as people write it: TOML with lines, of which everything that cannot be read is found at once.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::{LONGEST_POLICY, MOST_ENTRIES, MOST_RULES};
use crate::problem::{Problem, Problems, Severity};
use crate::{Glob, Policy, Rule, Rules, SpaceRules};

/// The part with the rules of spaces that have none of their own.
pub(crate) const DEFAULT: &str = "default";
const KEYS: [&str; 4] = ["based_on", "ignore", DEFAULT, "spaces"];
const SPACE_KEYS: [&str; 2] = ["space", "rules"];
const RULE_KEYS: [&str; 3] = ["source", "destination", "delete"];
const RULES_FORM: &str =
    "write \"none\", or a list such as [{ source = \"STORE\", destination = \"STORE\", delete = false }]";

/// A policy with the lines where it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub(crate) based_on: Option<u64>,
    pub(crate) ignore: Vec<Lined<Glob>>,
    pub(crate) default: Option<Lined<DraftRules>>,
    pub(crate) spaces: Vec<DraftSpace>,
}

/// Something that was written in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lined<T> {
    pub(crate) line: Option<usize>,
    pub(crate) value: T,
}

/// The rules of a list with their lines; none: the word `none`.
pub(crate) type DraftRules = Option<Vec<Lined<DraftRule>>>;

/// A rule as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftRule {
    pub(crate) source: Option<String>,
    pub(crate) destination: Option<String>,
    pub(crate) delete: Option<bool>,
}

impl DraftRule {
    /// The rule, where all of it could be read.
    fn whole(self) -> Option<Rule> {
        Some(Rule { source: self.source?, destination: self.destination?, delete: self.delete? })
    }

    /// Its source and its destination.
    pub(crate) fn stores(&self) -> Option<(&str, &str)> {
        self.source.as_deref().zip(self.destination.as_deref())
    }
}

impl From<&Rule> for DraftRule {
    fn from(rule: &Rule) -> Self {
        let Rule { source, destination, delete } = rule.clone();
        Self { source: Some(source), destination: Some(destination), delete: Some(delete) }
    }
}

/// Spaces with rules of their own, as far as they could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DraftSpace {
    /// Its place in the list, from 1.
    pub(crate) number: usize,
    pub(crate) space: Option<Lined<Glob>>,
    pub(crate) rules: Option<Lined<DraftRules>>,
}

impl Draft {
    /// Reads TOML; what could be read, and everything that could not. Where that is nothing, the draft is whole, and [`Draft::check`] says
    /// what is wrong with what it means.
    pub fn read(bytes: &[u8]) -> (Self, Vec<Problem>) {
        let mut reader = Reader { line_ends: Vec::new(), place: None, problems: Problems::default() };
        let draft = reader.read(bytes);
        (draft, reader.problems.finish())
    }

    /// A policy that was written nowhere.
    pub fn of(policy: &Policy) -> Self {
        let unlined = |rules: &Rules| Lined {
            line: None,
            value: match rules {
                Rules::None => None,
                Rules::Some(rules) => Some(rules.iter().map(|rule| Lined { line: None, value: rule.into() }).collect()),
            },
        };
        let space = |(number, entry): (usize, &SpaceRules)| DraftSpace {
            number,
            space: Some(Lined { line: None, value: entry.space.clone() }),
            rules: Some(unlined(&entry.rules)),
        };
        Self {
            based_on: None,
            ignore: policy.ignore.iter().map(|glob| Lined { line: None, value: glob.clone() }).collect(),
            default: policy.default.as_ref().map(unlined),
            spaces: (1..).zip(&policy.spaces).map(space).collect(),
        }
    }

    /// The version that it was made from, where it says so.
    pub fn based_on(&self) -> Option<u64> {
        self.based_on
    }

    /// The policy; of what could not be read nothing.
    pub fn into_policy(self) -> Policy {
        let rules = |rules: Lined<DraftRules>| match rules.value {
            None => Rules::None,
            Some(rules) => Rules::Some(rules.into_iter().filter_map(|rule| rule.value.whole()).collect()),
        };
        Policy {
            ignore: self.ignore.into_iter().map(|glob| glob.value).collect(),
            default: self.default.map(rules),
            spaces: self
                .spaces
                .into_iter()
                .filter_map(|entry| Some(SpaceRules { space: entry.space?.value, rules: rules(entry.rules?) }))
                .collect(),
        }
    }
}

/// Reads tables, and notes what is wrong.
struct Reader {
    /// Where lines end, in bytes.
    line_ends: Vec<usize>,
    /// The part that is read.
    place: Option<String>,
    problems: Problems,
}

impl Reader {
    fn read(&mut self, bytes: &[u8]) -> Draft {
        if bytes.len() > LONGEST_POLICY {
            let problem = format!("the policy is longer than {LONGEST_POLICY} bytes");
            self.tell(None, "too_long", problem, "use patterns in place of single spaces");
            return Draft::default();
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.tell(None, "not_utf8", "the policy is not UTF-8".to_owned(), "save it as UTF-8");
            return Draft::default();
        };
        self.line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        match DeTable::parse(text) {
            Ok(table) => self.document(table.get_ref()),
            Err(error) => {
                let problem = format!("the policy is not TOML: {}", error.message());
                self.tell(error.span().map(|span| span.start), "not_toml", problem, "correct it");
                Draft::default()
            }
        }
    }

    fn line(&self, at: usize) -> usize {
        self.line_ends.partition_point(|end| *end < at) + 1
    }

    fn tell(&mut self, at: Option<usize>, code: &'static str, problem: String, next: &str) {
        let line = at.map(|at| self.line(at));
        let (place, next) = (self.place.clone(), next.to_owned());
        self.problems.add(Problem { severity: Severity::Error, code, line, place, problem, next });
    }

    fn unknown(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let next = format!("the keys are {}", known.join(", "));
            self.tell(Some(key.span().start), "unknown_key", format!("the key {:?} is unknown", key.get_ref()), &next);
        }
    }

    fn document(&mut self, table: &DeTable<'_>) -> Draft {
        self.unknown(table, &KEYS);
        let based_on = value_of(table, "based_on").and_then(|value| self.version(value));
        let ignore = value_of(table, "ignore").map(|value| self.ignore(value)).unwrap_or_default();
        self.place = Some(DEFAULT.to_owned());
        let default = value_of(table, DEFAULT).and_then(|value| self.rules(value));
        self.place = None;
        let spaces = value_of(table, "spaces").map(|value| self.spaces(value)).unwrap_or_default();
        Draft { based_on, ignore, default, spaces }
    }

    fn version(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            let problem = "based_on is no number of a version".to_owned();
            self.tell(Some(value.span().start), "not_a_version", problem, "write the version that it was made from");
        }
        number
    }

    fn ignore(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Lined<Glob>> {
        self.place = Some("ignore".to_owned());
        let mut globs = Vec::new();
        for one in self.list(value, "write a list of patterns, such as [\"x-*\"]", MOST_ENTRIES) {
            globs.extend(self.glob(one));
        }
        self.place = None;
        globs
    }

    fn spaces(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<DraftSpace> {
        let form = "begin each with [[spaces]], with a space and its rules";
        let mut spaces = Vec::new();
        for (number, one) in (1..).zip(self.list(value, form, MOST_ENTRIES)) {
            self.place = Some(place(number, None));
            let start = one.span().start;
            let DeValue::Table(table) = one.get_ref() else {
                self.tell(Some(start), "not_a_table", "it is no table".to_owned(), form);
                continue;
            };
            let space = self.required(table, "space", start, "write space = \"NAME\"");
            let space = space.and_then(|value| self.glob(value));
            self.place = Some(place(number, space.as_ref().map(|space| space.value.as_str())));
            self.unknown(table, &SPACE_KEYS);
            let rules = self.required(table, "rules", start, RULES_FORM).and_then(|value| self.rules(value));
            spaces.push(DraftSpace { number, space, rules });
        }
        self.place = None;
        spaces
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Lined<DraftRules>> {
        let start = value.span().start;
        let line = Some(self.line(start));
        match value.get_ref() {
            DeValue::String(word) if word == Rules::NONE => return Some(Lined { line, value: None }),
            DeValue::Array(list) if list.is_empty() => {
                let problem =
                    "the list of rules is empty, which does not say whether nothing is to be copied".to_owned();
                let next = if self.place.as_deref() == Some(DEFAULT) {
                    "write \"none\" where nothing is to be copied, or rules"
                } else {
                    "write \"none\" where nothing is to be copied; leave the entry out for the default rules"
                };
                self.tell(Some(start), "empty_rules", problem, next);
                return None;
            }
            DeValue::Array(_) => {}
            _ => {
                self.tell(Some(start), "not_rules", "these are no rules".to_owned(), RULES_FORM);
                return None;
            }
        }
        let outer = self.place.clone();
        let mut rules = Vec::new();
        for (number, one) in (1..).zip(self.list(value, RULES_FORM, MOST_RULES)) {
            let before = outer.as_deref().map(|outer| format!("{outer}, ")).unwrap_or_default();
            self.place = Some(format!("{before}rule {number}"));
            rules.extend(self.rule(one));
        }
        self.place = outer;
        Some(Lined { line, value: Some(rules) })
    }

    fn rule(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Lined<DraftRule>> {
        let start = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            self.tell(Some(start), "not_a_table", "it is no rule".to_owned(), RULES_FORM);
            return None;
        };
        self.unknown(table, &RULE_KEYS);
        let source = self.text_of(table, "source", start);
        let destination = self.text_of(table, "destination", start);
        let delete = match value_of(table, "delete").map(|value| (value.get_ref(), value.span().start)) {
            None => Some(false),
            Some((DeValue::Boolean(is), _)) => Some(*is),
            Some((_, at)) => {
                let problem = "its delete is neither true nor false".to_owned();
                self.tell(Some(at), "not_a_boolean", problem, "write delete = true, or leave it out");
                None
            }
        };
        Some(Lined { line: Some(self.line(start)), value: DraftRule { source, destination, delete } })
    }

    fn text_of(&mut self, table: &DeTable<'_>, key: &str, start: usize) -> Option<String> {
        let next = format!("write {key} = \"STORE\"");
        let value = self.required(table, key, start, &next)?;
        self.text(value, &next).map(Cow::into_owned)
    }

    fn required<'v, 'd>(
        &mut self,
        table: &'v DeTable<'d>,
        key: &str,
        start: usize,
        next: &str,
    ) -> Option<&'v Spanned<DeValue<'d>>> {
        let value = value_of(table, key);
        if value.is_none() {
            self.tell(Some(start), "missing_key", format!("it has no {key}"), next);
        }
        value
    }

    fn text<'v>(&mut self, value: &'v Spanned<DeValue<'_>>, next: &str) -> Option<Cow<'v, str>> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(Cow::Borrowed(text));
        }
        self.tell(Some(value.span().start), "not_a_text", "it is no text".to_owned(), next);
        None
    }

    fn glob(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Lined<Glob>> {
        let start = value.span().start;
        let text = self.text(value, "write the name of a space, or a pattern such as \"maps-*\"")?;
        match text.parse() {
            Ok(value) => Some(Lined { line: Some(self.line(start)), value }),
            Err(error) => {
                let error: crate::GlobError = error;
                let shown: String = text.chars().take(80).collect();
                self.tell(Some(start), "not_a_glob", format!("{shown:?} is no pattern: {error}"), error.next());
                None
            }
        }
    }

    /// The values of a list that is not too long.
    fn list<'v, 'd>(
        &mut self,
        value: &'v Spanned<DeValue<'d>>,
        form: &str,
        most: usize,
    ) -> impl Iterator<Item = &'v Spanned<DeValue<'d>>> + use<'v, 'd> {
        let start = value.span().start;
        let list = match value.get_ref() {
            DeValue::Array(list) if list.len() <= most => Some(list),
            DeValue::Array(list) => {
                let problem = format!("it has {} entries, and may have {most}", list.len());
                self.tell(Some(start), "too_many", problem, "use patterns in place of single names");
                None
            }
            _ => {
                self.tell(Some(start), "not_a_list", "it is no list".to_owned(), form);
                None
            }
        };
        list.into_iter().flat_map(|list| list.iter())
    }
}

/// How a part of the list of spaces is named.
pub(crate) fn place(number: usize, space: Option<&str>) -> String {
    space.map_or_else(|| format!("spaces {number}"), |space| format!("spaces {number} ({space})"))
}

fn value_of<'t, 'd>(table: &'t DeTable<'d>, name: &str) -> Option<&'t Spanned<DeValue<'d>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}
