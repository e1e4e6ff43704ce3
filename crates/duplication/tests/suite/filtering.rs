//! Filters by institution, store and space.

use strongroom_duplication::{Filter, Place, Verdict};

fn at(path: &str) -> Place<'_> {
    let mut names = path.split('/').skip(1);
    Place { institution: names.next().expect("an institution"), store: names.next(), space: names.next() }
}

fn filter(include: &[&str], exclude: &[&str]) -> Filter {
    let (filter, problems) = Filter::new(include.iter().copied(), exclude.iter().copied());
    assert_eq!(problems, []);
    filter
}

fn is_included(filter: &Filter, path: &str) -> bool {
    filter.decide(at(path)).is_included()
}

#[test]
fn an_exclusion_of_everything_excludes_every_depth() {
    let filter = filter(&[], &["/*/*/*"]);
    for path in ["/test", "/test/0", "/test/0/space", "/test/0/my.space"] {
        assert_eq!(filter.decide(at(path)), Verdict::Excluded("/*/*/*"), "{path}");
    }
}

#[test]
fn names_may_have_dots() {
    let filter = filter(&["/test/*/my.space"], &[]);
    assert!(is_included(&filter, "/test/0/my.space"));
    assert!(!is_included(&filter, "/test/0/myxspace"));
}

#[test]
fn comments_and_empty_lines_mean_nothing() {
    let (filter, problems) = Filter::of_lines("# /other/*/*\n\n/test/*/*\n", "  # none\n");
    assert_eq!(problems, []);
    assert!(is_included(&filter, "/test/0/space"));
    assert!(!is_included(&filter, "/other/0/space"));
}

#[test]
fn an_inclusion_is_of_whole_names() {
    let filter = filter(&["/test/*/*"], &[]);
    assert_eq!(filter.decide(at("/test1")), Verdict::NotIncluded);
    assert_eq!(filter.decide(at("/test1/0/space")), Verdict::NotIncluded);
    assert_eq!(filter.decide(at("/test")), Verdict::Included(Some("/test/*/*")));
}

#[test]
fn any_inclusion_is_enough() {
    let filter = filter(&["/test/*/*", "/other/1/maps-*"], &[]);
    assert_eq!(filter.decide(at("/other/1/maps-2024")), Verdict::Included(Some("/other/1/maps-*")));
    // Something below it may be included.
    assert!(is_included(&filter, "/other") && is_included(&filter, "/other/1"));
    assert!(!is_included(&filter, "/other/2") && !is_included(&filter, "/other/1/letters"));
}

#[test]
fn an_exclusion_comes_after_inclusions() {
    let filter = filter(&["/test/*/*"], &["/*/*/x-duracloud-admin"]);
    assert!(is_included(&filter, "/test") && is_included(&filter, "/test/0"));
    assert!(is_included(&filter, "/test/0/space"));
    assert!(!is_included(&filter, "/test/0/x-duracloud-admin"));
}

#[test]
fn an_exclusion_of_spaces_does_not_exclude_their_store() {
    let filter = filter(&[], &["/*/1/*", "/test/0/a*"]);
    assert!(is_included(&filter, "/test") && is_included(&filter, "/test/0"));
    assert!(!is_included(&filter, "/test/1") && !is_included(&filter, "/test/1/space"));
    assert!(!is_included(&filter, "/test/0/abc") && is_included(&filter, "/test/0/bcd"));
}

#[test]
fn without_patterns_everything_is_included() {
    assert_eq!(Filter::default().decide(at("/test/0/space")), Verdict::Included(None));
}

#[test]
fn every_problem_of_the_patterns_is_found_with_its_line() {
    let (filter, problems) = Filter::of_lines("test/*/*\n/a/b\n/a/b/c/d\n/a//c\n/ok/*/*\n", "/a/**/c\n/a/b/c**\n");
    let told: Vec<String> = problems
        .iter()
        .map(|one| format!("{} {}: {}", one.place.clone().unwrap_or_default(), one.line.unwrap_or(0), one.problem))
        .collect();
    assert_eq!(
        told,
        [
            "include 1: \"test/*/*\" does not begin with a slash",
            "exclude 1: \"/a/**/c\" has **, which a filter has no place for",
            "include 2: \"/a/b\" has not three segments",
            "exclude 2: \"/a/b/c**\" is no pattern: it has ** beside other characters",
            "include 3: \"/a/b/c/d\" has not three segments",
            "include 4: \"/a//c\" is no pattern: it has an empty segment",
        ]
    );
    assert!(is_included(&filter, "/ok/1/a"));
}
