//! Finding objects and files by what is known of them.

use strongroom_registry::search::{self, SearchCursor, SearchFilter};
use strongroom_registry::{Description, InstitutionId, RegistryError, Scope, Stage, Time, objects, versions};

use super::world::*;

/// Publishes an object with a file at each path, whose content is its path.
fn publish(world: &World<'_>, name: &str, said: &Description, paths: &[&str]) {
    let object = world.object(name);
    let (claim, _) = world.claimed_at(Stage::named("write"));
    let (held, said) = (claim.clone(), said.clone());
    let version = world.write(move |tx| versions::prepare(tx, &held, &new_version(&object, &said)));
    let contents: Vec<_> =
        paths.iter().map(|path| world.put(&claim, &version, &format!("deposit/{path}"), path.as_bytes()).1).collect();
    world.copy(&claim, &version, "primary", &contents);
    world.commit(&claim, &version);
    world.publish(&claim, &["primary"]);
    world.finish(&claim, &succeeded());
}

/// What fits, page by page of one: the identifier, with the path where there is one.
fn found(world: &World<'_>, scope: Scope, filter: &SearchFilter) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None::<SearchCursor>);
    loop {
        let page = world.read(|tx| search::find(tx, scope, filter, after.as_ref(), 1));
        let Some(last) = page.last() else { return all };
        after = Some(last.cursor());
        all.extend(page.iter().map(|found| match &found.file {
            Some(file) => format!("{} {}", found.identifier, file.path),
            None => found.identifier.clone(),
        }));
    }
}

pub(crate) fn objects_are_found_by_words_of_their_description(subject: &dyn Subject) {
    let world = World::new(subject);
    let said = Description {
        title: Some("A Map of 100% Übersee".into()),
        local_ids: vec!["M_17".into()],
        ..Description::default()
    };
    publish(&world, "maps", &said, &["data/a"]);
    publish(&world, "letters", &Description::default(), &["data/a"]);
    world.object("never published");
    let all = |filter: SearchFilter| found(&world, Scope::System, &filter);
    let words = |words: &str| all(SearchFilter { words: Some(words.into()), ..SearchFilter::default() });
    let titled = |words: &str| all(SearchFilter { title: Some(words.into()), ..SearchFilter::default() });
    assert_eq!(all(SearchFilter::default()).len(), 2);
    let [maps, letters] = all(SearchFilter::default()).try_into().expect("two objects");
    for fitting in ["a map", "100% \u{dc}ber", "m_17", "A*see", "*maps", "*/map?"] {
        assert_eq!(words(fitting), [maps.as_str()], "{fitting}");
    }
    for other in ["mX17", "100_", "map?", "A*\\see"] {
        assert!(words(other).is_empty(), "{other}");
    }
    assert_eq!(words("LETTERS"), [letters.as_str()]);
    assert_eq!(titled("map"), [maps.as_str()]);
    assert!(titled("letters").is_empty());
    let now = world.now();
    let made = |since, until| all(SearchFilter { since, until, ..SearchFilter::default() });
    assert_eq!(made(None, Some(now.plus(1))).len(), 2);
    assert!(made(Some(now.plus(1)), None).is_empty());
    assert!(made(None, Some(Time(0))).is_empty());
    let foreign = Scope::Institution(InstitutionId::new());
    assert!(found(&world, foreign, &SearchFilter::default()).is_empty());
}

pub(crate) fn files_are_found_by_a_path_in_another_normalization_form(subject: &dyn Subject) {
    let world = World::new(subject);
    publish(&world, "maps", &Description::default(), &["data/cafe\u{301}.txt", "data/\u{e9}t\u{e9}.txt"]);
    for (words, end) in
        [("caf\u{e9}", "1"), ("cafe\u{301}", "1"), ("*/e\u{301}te\u{301}.*", "2"), ("\u{e9}t\u{e9}", "2")]
    {
        let filter = SearchFilter { path: Some(words.into()), ..SearchFilter::default() };
        let found = found(&world, Scope::System, &filter);
        assert_eq!(found.len(), 1, "{words} {found:?}");
        assert_eq!(found[0].ends_with("cafe\u{301}.txt"), end == "1", "{words} {found:?}");
    }
}

pub(crate) fn files_are_found_by_path_and_by_any_digest(subject: &dyn Subject) {
    let world = World::new(subject);
    publish(&world, "maps", &Description::default(), &["data/a.tif", "data/b/C.TIF", "data/d_e.txt"]);
    publish(&world, "letters", &Description::default(), &["data/a.tif"]);
    let all = |filter: SearchFilter| found(&world, Scope::System, &filter);
    let path = |path: &str| all(SearchFilter { path: Some(path.into()), ..SearchFilter::default() });
    let ends = |found: &[String], ends: &[&str]| {
        found.len() == ends.len() && found.iter().zip(ends).all(|(found, end)| found.ends_with(end))
    };
    let tifs = path("*.tif");
    assert!(
        ends(&tifs, &["maps deposit/data/a.tif", "maps deposit/data/b/C.TIF", "letters deposit/data/a.tif"]),
        "{tifs:?}"
    );
    assert!(ends(&path("d_e"), &["d_e.txt"]));
    assert!(path("a_tif").is_empty());
    // The prefix of logical paths is no part of what people search.
    assert!(path("deposit").is_empty() && path("deposit*").is_empty());
    let recorded = digests(b"data/b/C.TIF");
    for digest in [recorded.md5, recorded.sha1, recorded.sha256, recorded.sha512] {
        let found = all(SearchFilter { digest: Some(digest), ..SearchFilter::default() });
        assert!(ends(&found, &["data/b/C.TIF"]), "{found:?}");
    }
    let puid = SearchFilter { puid: Some("fmt/353".into()), ..SearchFilter::default() };
    assert!(all(puid).is_empty());
    let foreign = Scope::Institution(InstitutionId::new());
    let by_path = SearchFilter { path: Some("*".into()), ..SearchFilter::default() };
    assert!(found(&world, foreign, &by_path).is_empty());
}

pub(crate) fn objects_are_found_by_a_name_in_another_normalization_form_where_there_is_one(subject: &dyn Subject) {
    let world = World::new(subject);
    let find = |name: &str| {
        let name = format!("example.edu/{name}");
        world.registry.read(move |tx| objects::find(tx, Scope::System, &name)).map(|object| object.identifier)
    };
    let (composed, decomposed) = ("caf\u{e9}-\u{e9}", "cafe\u{301}-e\u{301}");
    publish(&world, decomposed, &Description::default(), &["data/a"]);
    for name in [composed, decomposed, "caf\u{e9}-e\u{301}"] {
        assert_eq!(find(name).expect("is found"), format!("example.edu/{decomposed}"));
    }
    assert!(matches!(find("cafe-e"), Err(RegistryError::NotFound { .. })), "accents are part of a name");
    world.object(composed);
    assert_eq!(find(composed).expect("the other is not published"), format!("example.edu/{decomposed}"));
    publish(&world, composed, &Description::default(), &["data/a"]);
    for name in [composed, decomposed] {
        assert_eq!(find(name).expect("each is found by its own name"), format!("example.edu/{name}"));
    }
    let refused = find("caf\u{e9}-e\u{301}").expect_err("it may be either");
    assert!(matches!(&refused, RegistryError::Ambiguous { candidates, .. } if candidates.contains(", ")), "{refused}");
}
