//! Filters: which institutions, stores and spaces a run is about, by patterns `/institution/store/space`.
//!
//! A pattern has three segments in the grammar of [`Glob`], without `**`. An inclusion admits a part of a path, such as `/institution`, where
//! the segments that the part has match: something below it may be included. An exclusion excludes a part of a path where its segments
//! match and the pattern's other segments are `*`: then all below it is excluded. Exclusions come after inclusions; without inclusions
//! everything is included.

use crate::problem::{Problem, Problems, Severity};
use crate::{Glob, GlobError};

/// What a filter is asked about: an institution, a store of it, or a space of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'p> {
    /// The institution.
    pub institution: &'p str,
    /// A store; none: the institution as a whole.
    pub store: Option<&'p str>,
    /// A space of the store; none: the store as a whole.
    pub space: Option<&'p str>,
}

/// What a filter says of a place, with the pattern that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'f> {
    /// It is included; without a pattern where the filter has no inclusions.
    Included(Option<&'f str>),
    /// An exclusion matches.
    Excluded(&'f str),
    /// There are inclusions, and none matches.
    NotIncluded,
}

impl Verdict<'_> {
    /// Whether it is included.
    pub fn is_included(self) -> bool {
        matches!(self, Self::Included(_))
    }
}

/// Inclusions and exclusions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    text: String,
    segments: Vec<Glob>,
}

impl Filter {
    /// The filter of these patterns; where there are problems, only of those that are patterns.
    pub fn new<'t, I, E>(include: I, exclude: E) -> (Self, Vec<Problem>)
    where
        I: IntoIterator<Item = &'t str>,
        E: IntoIterator<Item = &'t str>,
    {
        let unlined = |text| (None, text);
        Self::of(include.into_iter().map(unlined), exclude.into_iter().map(unlined))
    }

    /// The filter of two texts with a pattern in each line. Empty lines, and those that begin with `#`, mean nothing.
    pub fn of_lines(include: &str, exclude: &str) -> (Self, Vec<Problem>) {
        Self::of(lines(include), lines(exclude))
    }

    fn of<'t>(
        include: impl Iterator<Item = (Option<usize>, &'t str)>,
        exclude: impl Iterator<Item = (Option<usize>, &'t str)>,
    ) -> (Self, Vec<Problem>) {
        let mut problems = Problems::default();
        let mut read = |place: &str, (line, text)| match Pattern::read(text) {
            Ok(pattern) => Some(pattern),
            Err((problem, next)) => {
                let (severity, place) = (Severity::Error, Some(place.to_owned()));
                problems.add(Problem { severity, code: "not_a_filter", line, place, problem, next });
                None
            }
        };
        let include = include.filter_map(|one| read("include", one)).collect();
        let exclude = exclude.filter_map(|one| read("exclude", one)).collect();
        (Self { include, exclude }, problems.finish())
    }

    /// Its patterns: inclusions, then exclusions.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.include.iter().chain(&self.exclude).map(|pattern| pattern.text.as_str())
    }

    /// The patterns that match a place, whichever decides: inclusions, then exclusions.
    pub fn matching<'f>(&'f self, place: Place<'f>) -> impl Iterator<Item = &'f str> {
        let path = place.path();
        let all = self.include.iter().chain(&self.exclude);
        all.filter(move |pattern| pattern.begins(&path)).map(|pattern| pattern.text.as_str())
    }

    /// Whether a place is included. Of an institution or a store as a whole: whether anything below it may be.
    pub fn decide(&self, place: Place<'_>) -> Verdict<'_> {
        let path = place.path();
        let included = self.include.iter().find(|pattern| pattern.begins(&path));
        if included.is_none() && !self.include.is_empty() {
            return Verdict::NotIncluded;
        }
        match self.exclude.iter().find(|pattern| pattern.begins(&path) && pattern.is_all_behind(path.len())) {
            Some(pattern) => Verdict::Excluded(&pattern.text),
            None => Verdict::Included(included.map(|pattern| pattern.text.as_str())),
        }
    }
}

impl<'p> Place<'p> {
    fn path(self) -> Vec<&'p str> {
        let below = self.store.into_iter().chain(self.space.filter(|_| self.store.is_some()));
        std::iter::once(self.institution).chain(below).collect()
    }
}

impl Pattern {
    fn read(text: &str) -> Result<Self, (String, String)> {
        let form = "write /INSTITUTION/STORE/SPACE, where * stands for any characters".to_owned();
        let shown: String = text.chars().take(80).collect();
        let Some(path) = text.strip_prefix('/') else {
            return Err((format!("{shown:?} does not begin with a slash"), form));
        };
        let segments: Result<Vec<Glob>, GlobError> = path.split('/').take(4).map(str::parse).collect();
        let segments =
            segments.map_err(|error| (format!("{shown:?} is no pattern: {error}"), error.next().to_owned()))?;
        match segments.len() {
            3 if segments.iter().all(Glob::is_name) => Ok(Self { text: text.to_owned(), segments }),
            3 => Err((format!("{shown:?} has **, which a filter has no place for"), form)),
            _ => Err((format!("{shown:?} has not three segments"), form)),
        }
    }

    /// Whether the segments of a path match, as many as it has.
    fn begins(&self, path: &[&str]) -> bool {
        self.segments.iter().zip(path).all(|(glob, name)| glob.matches(name))
    }

    fn is_all_behind(&self, depth: usize) -> bool {
        self.segments.iter().skip(depth).all(|glob| glob.as_str() == "*")
    }
}

fn lines(text: &str) -> impl Iterator<Item = (Option<usize>, &str)> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (Some(number), line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
