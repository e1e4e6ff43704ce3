//! Signatures, and identification anew.

use strongroom_engine::EngineError;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::formats::{self, Published, ReidentifyRequest};
use strongroom_engine::app::views::SignaturesView;

use super::{acting_for, at_console, is_not_found, journal_of};
use crate::fixture::{INSTITUTION, home};

/// A binary signature file that knows one format.
fn binary(version: u32) -> Published {
    let text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2030-01-01T00:00:00" Version="{version}" xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile">
<InternalSignatureCollection><InternalSignature ID="1" Specificity="Specific"><ByteSequence Reference="BOFoffset">
<SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="0"><Sequence>5354524F4E47</Sequence></SubSequence>
</ByteSequence></InternalSignature></InternalSignatureCollection>
<FileFormatCollection><FileFormat ID="1" Name="Strong" PUID="fmt/90001"><InternalSignatureID>1</InternalSignatureID>
</FileFormat></FileFormatCollection></FFSignatureFile>"#
    );
    Published { name: format!("DROID_SignatureFile_V{version}.xml"), bytes: text.into_bytes() }
}

fn names(home: &std::path::Path) -> Vec<String> {
    SignaturesView::of_directory(home).expect("reads").into_iter().map(|view| view.name).collect()
}

#[test]
fn signatures_are_installed_and_chosen_by_those_who_run_the_installation_alone() {
    let home = home();
    let admin = acting_for(&home, INSTITUTION, Role::InstitutionAdmin);
    let request = ReidentifyRequest::default();
    let refused = [
        formats::install(&admin, vec![binary(900)], true).err(),
        formats::choose(&admin, "built-in").err(),
        formats::enqueue(&admin, &request).err(),
        formats::reidentify(&admin, &request, &mut |_| ()).err(),
        formats::behind(&admin, &request).err(),
    ];
    assert!(refused.iter().all(|error| matches!(error, Some(EngineError::NotAllowed { .. }))), "{refused:?}");
    assert_eq!(names(home.path()), ["built-in"]);

    let call = at_console(&home);
    let installed = formats::install(&call, vec![binary(900)], false).expect("installs").name;
    assert_eq!(names(home.path()), [installed.as_str(), "built-in"]);
    assert_eq!(formats::choose(&call, "built-in").expect("chooses").name, "built-in");
    assert_eq!(names(home.path()), ["built-in", installed.as_str()]);
    let told = journal_of(&call).into_iter().filter(|line| !line.ends_with("refused")).collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            format!("signatures.install {installed}: begun"),
            format!("signatures.install {installed}: done"),
            "signatures.choose built-in: begun".to_owned(),
            "signatures.choose built-in: done".to_owned(),
        ]
    );
}

#[test]
fn signatures_that_cannot_be_installed_leave_nothing_in_the_journal() {
    let home = home();
    let call = at_console(&home);
    let twice = formats::install(&call, vec![binary(900), binary(901)], false).expect_err("two of a kind");
    assert!(twice.to_string().contains("both binary signature files"), "{twice}");
    let older = formats::install(&call, vec![binary(7)], false).expect_err("older");
    assert!(matches!(&older, EngineError::Advised(advised) if advised.next.contains("--allow-older")), "{older:?}");
    let broken = Published { bytes: b"<nothing>".to_vec(), ..binary(900) };
    assert!(formats::install(&call, vec![broken], true).is_err());
    for name in ["absent", "../signatures", ""] {
        assert!(matches!(formats::choose(&call, name), Err(EngineError::Signatures(_))), "{name:?}");
    }
    let absent = ReidentifyRequest { object: Some("test.edu/absent".to_owned()), ..ReidentifyRequest::default() };
    assert!(is_not_found(&formats::enqueue(&call, &absent).expect_err("absent")));
    assert_eq!(names(home.path()), ["built-in"]);
    assert!(journal_of(&call).is_empty(), "{:?}", journal_of(&call));
}
