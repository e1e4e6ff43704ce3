//! Which description takes precedence.

use strongroom_metadata::{Element, Field, Merged, Record, Sources, merge};

use crate::{dc, record};

fn shown(merged: &Merged) -> [Option<&str>; 3] {
    [Field::Who, Field::What, Field::When].map(|field| merged.record.first(field))
}

#[test]
fn dublin_core_fills_blanks_datacite_overwrites_and_erc_overwrites_that() {
    let given = record(&[(Field::Who, "form"), (dc(Element::Title), "form title")]);
    let dublin_core = record(&[
        (dc(Element::Creator), "dc"),
        (dc(Element::Title), "dc title"),
        (dc(Element::Date), "dc date"),
        (dc(Element::Publisher), "dc publisher"),
    ]);
    let datacite = record(&[(dc(Element::Title), "datacite title"), (Field::ResourceType, "Text")]);
    let erc = record(&[(Field::When, "erc date")]);
    let mut sources = Sources { given: Some(&given), ..Sources::default() };
    assert_eq!(shown(&merge(&sources)), [Some("form"), None, None]);
    sources.dublin_core = Some(&dublin_core);
    let merged = merge(&sources);
    assert_eq!(shown(&merged), [Some("form"), Some("dc title"), Some("dc date")]);
    assert_eq!(merged.record.values(dc(Element::Title)), ["form title"]);
    assert_eq!(merged.record.values(dc(Element::Publisher)), ["dc publisher"]);
    sources.datacite = Some(&datacite);
    let merged = merge(&sources);
    assert_eq!(shown(&merged), [Some("form"), Some("datacite title"), Some("dc date")]);
    assert_eq!(merged.record.values(dc(Element::Title)), ["datacite title"]);
    assert_eq!(merged.record.values(Field::ResourceType), ["Text"]);
    sources.erc = Some(&erc);
    assert_eq!(shown(&merge(&sources)), [Some("form"), Some("datacite title"), Some("erc date")]);
}

#[test]
fn the_first_ark_of_erc_is_primary_and_the_others_are_local() {
    let erc = record(&[
        (Field::Where, "localid"),
        (Field::Where, "ARK:/99999/fk4dummy"),
        (Field::Where, "ark:/99999/fk4other"),
        (Field::Where, "localidtwo;localidthree"),
    ]);
    let exact = ["a; b".to_owned()];
    let merged = merge(&Sources { exact_local_ids: &exact, local_ids: &["a;c".to_owned()], ..Sources::default() });
    assert_eq!(merged.local_ids, ["a; b", "a", "c"]);
    let local_ids = ["localidfour;localidfive".to_owned(), "localid".to_owned()];
    let merged = merge(&Sources { local_ids: &local_ids, erc: Some(&erc), ..Sources::default() });
    assert_eq!(merged.primary.as_deref(), Some("ARK:/99999/fk4dummy"));
    assert_eq!(merged.replaced_primary, None);
    let expected = ["localidfour", "localidfive", "localid", "ark:/99999/fk4other", "localidtwo", "localidthree"];
    assert_eq!(merged.local_ids, expected);
    assert_eq!(merged.record.first(Field::Where), Some("ARK:/99999/fk4dummy"));
    assert_eq!(merged.record.values(Field::Where)[1..], expected);
}

#[test]
fn another_primary_identifier_of_the_form_is_told() {
    let erc = record(&[(Field::Where, "ark:/99999/fk4a")]);
    let with = |primary| merge(&Sources { primary: Some(primary), erc: Some(&erc), ..Sources::default() });
    assert_eq!(with("ark:/99999/fk4b").replaced_primary.as_deref(), Some("ark:/99999/fk4b"));
    assert_eq!(with("ark:/99999/fk4a").replaced_primary, None);
    let without = record(&[(Field::Who, "x")]);
    let merged = merge(&Sources { primary: Some("ark:/99999/fk4b"), erc: Some(&without), ..Sources::default() });
    assert_eq!((merged.primary.as_deref(), merged.replaced_primary), (Some("ark:/99999/fk4b"), None));
}

#[test]
fn where_of_the_form_names_the_object_only_where_nothing_else_does() {
    let given = record(&[(Field::Where, "ark:/99999/fk4a"), (Field::Where, "box 7")]);
    let merged = merge(&Sources { given: Some(&given), ..Sources::default() });
    assert_eq!(
        (merged.primary.as_deref(), merged.local_ids.as_slice()),
        (Some("ark:/99999/fk4a"), &["box 7".to_owned()][..])
    );
    let merged = merge(&Sources { given: Some(&given), primary: Some("ark:/99999/fk4p"), ..Sources::default() });
    assert_eq!(merged.primary.as_deref(), Some("ark:/99999/fk4p"));
    assert_eq!(merged.local_ids, ["ark:/99999/fk4a", "box 7"]);
}

#[test]
fn identifiers_of_dublin_core_are_local_unless_they_are_suppressed() {
    let dublin_core = record(&[(dc(Element::Identifier), "box 7")]);
    let mut sources = Sources { dublin_core: Some(&dublin_core), ..Sources::default() };
    assert_eq!(merge(&sources).local_ids, ["box 7"]);
    sources.suppress_dublin_core_local_ids = true;
    let merged = merge(&sources);
    assert!(merged.local_ids.is_empty());
    assert_eq!(merged.record.values(dc(Element::Identifier)), ["box 7"]);
}

#[test]
fn nothing_merges_to_nothing() {
    assert_eq!(merge(&Sources::default()), Merged::default());
    assert_eq!(merge(&Sources::default()).record, Record::new());
}
