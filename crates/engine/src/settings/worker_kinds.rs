//! Worker kinds: named sets of topics that a process of workers may be started with. The settings say some by patterns; besides, each group of
//! topics, the name before the first dot, is a kind.

use std::collections::BTreeSet;

use strongroom_duplication::Glob;

use super::collected::quoted;
use super::nearest::{nearest, nearest_few};
use super::tree::{Settings, pool_names};

/// The group of a topic.
fn group_of(topic: &str) -> &str {
    topic.split('.').next().unwrap_or(topic)
}

impl Settings {
    /// Those of the topics that a kind is for.
    ///
    /// # Errors
    /// There is no such kind, and which were meant.
    pub fn topics_of_kind(&self, kind: &str, topics: &[String]) -> Result<Vec<String>, String> {
        let is_of: Box<dyn Fn(&str) -> bool> = match self.worker_kinds.get(kind) {
            Some(patterns) => {
                let globs: Vec<Glob> = patterns.iter().filter_map(|pattern| pattern.parse().ok()).collect();
                Box::new(move |topic| globs.iter().any(|glob| glob.matches(topic)))
            }
            None => Box::new(|topic| group_of(topic) == kind),
        };
        let found: Vec<String> = topics.iter().filter(|topic| is_of(topic)).cloned().collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let kinds: BTreeSet<&str> =
            topics.iter().map(|topic| group_of(topic)).chain(self.worker_kinds.keys().map(String::as_str)).collect();
        let near = nearest_few(kind, kinds.iter().copied()).join(", ");
        let near = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
        let kinds: Vec<&str> = kinds.into_iter().collect();
        Err(format!("there is no worker kind {kind:?}{near} The kinds are {}", kinds.join(", ")))
    }

    /// The first kind that does not fit, and why.
    pub(super) fn check_worker_kinds(&self) -> Result<(), (String, String)> {
        let mut topics = pool_names();
        topics.retain(|topic| topic != super::tree::DEFAULT_TOPIC);
        for (kind, patterns) in &self.worker_kinds {
            let unfit = |reason: String| Err((format!("worker_kinds.{}", quoted(kind)), reason));
            if kind.is_empty()
                || !kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
            {
                return unfit("a kind's name has lower-case letters, digits, - and _ only".to_owned());
            }
            if patterns.is_empty() {
                return unfit("it names no topic; name one, such as \"ingest.*\"".to_owned());
            }
            for (place, pattern) in patterns.iter().enumerate() {
                if patterns.iter().take(place).any(|earlier| earlier == pattern) {
                    return unfit(format!("{pattern:?} is named twice"));
                }
                let glob: Glob = match pattern.parse() {
                    Ok(glob) => glob,
                    Err(error) => {
                        let error: strongroom_duplication::GlobError = error;
                        return unfit(format!("{pattern:?} is no pattern: {error}; {}", error.next()));
                    }
                };
                if !topics.iter().any(|topic| glob.matches(topic)) {
                    let near = nearest(pattern, topics.iter().map(String::as_str)).unwrap_or_default();
                    return unfit(format!("{pattern:?} is the name or pattern of no topic; the nearest is {near:?}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, starting_file};
    use crate::settings::topics;
    use crate::workflow::Workflows;

    fn with_kinds(kinds: &str) -> Result<Settings, String> {
        Settings::from_toml(&format!("{}\n[worker_kinds]\n{kinds}\n", starting_file()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_kind_is_the_topics_of_its_patterns_and_each_group_is_one() {
        let settings = with_kinds("downloads = [\"*.remote\"]\nfixity = [\"fixity.check\", \"store.*\"]").unwrap();
        let all = topics(&Workflows::standard());
        let of = |kind: &str| settings.topics_of_kind(kind, &all).unwrap();
        assert_eq!(
            of("downloads"),
            ["ingest.receive.remote", "ingest.estimate.remote", "ingest.fetch.remote", "batch.expand.remote"]
        );
        assert_eq!(of("fixity"), ["fixity.check", "store.backfill"], "the settings take precedence over the group");
        assert_eq!(of("store"), ["store.backfill"]);
        assert!(of("ingest").contains(&"ingest.sweep".to_owned()));
        let groups: usize =
            ["ingest", "batch", "restoration", "deletion", "activity", "signatures", "store", "duplicate"]
                .iter()
                .map(|group| of(group).len())
                .sum();
        assert_eq!(groups + 1, all.len(), "each topic has one group");
        let error = settings.topics_of_kind("restoratoin", &all).unwrap_err();
        assert!(error.contains("did you mean restoration?") && error.contains("downloads"), "{error}");
    }

    #[test]
    fn a_kind_that_does_not_fit_is_refused_with_the_reason() {
        for (kinds, reason) in [
            ("a = []", "worker_kinds.a: it names no topic"),
            ("a = [\"ingest.*\", \"fixity.check\", \"ingest.*\"]", "worker_kinds.a: \"ingest.*\" is named twice"),
            ("a = [\"ingest.fetsh\"]", "the nearest is \"ingest.fetch\""),
            ("a = [\"ingest/*\"]", "is the name or pattern of no topic"),
            ("a = [\"ingest.**\"]", "is no pattern: it has ** beside other characters; write *"),
            ("\"A b\" = [\"ingest.*\"]", "lower-case letters"),
            ("a = \"ingest.*\"", "a list of strings"),
            ("a = [\"default\"]", "no topic"),
        ] {
            let error = with_kinds(kinds).unwrap_err();
            assert!(error.contains(reason), "{kinds}: {error}");
        }
    }
}
