//! What the record says, in forms that others read.

use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::{Caller, OpContext, Shutdown, deposits, items};
use strongroom_engine::export;
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, Scope};

use crate::fixture;

#[test]
fn a_premis_document_tells_every_file_copy_event_and_agent() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c & d.txt", b"two")]);
    let object = home.ingest("letters", &[("a.txt", b"changed")]);
    let mut document = Vec::new();
    export::premis(&home, &object, &mut document).expect("writes");
    let text = String::from_utf8(document).expect("UTF-8");
    let count = |part: &str| text.matches(part).count();
    assert!(text.contains(&object.id.to_string()));
    assert_eq!(count("<originalName>data/b/c &amp; d.txt</originalName>"), 1);
    assert_eq!(count("<originalName>metadata/v2/record.jsonl</originalName>"), 1);
    let files = count("xsi:type=\"file\"");
    assert_eq!(count("<fixity>"), 4 * files);
    assert_eq!(count("<storageMedium>secondary</storageMedium>"), files + 1);
    // Calculated four times for each file that a deposit brought.
    assert_eq!(count(">message digest calculation<") % 4, 0);
    assert!(count(">ingestion<") >= 4);
    assert_eq!(count("<agentType"), 2);
    assert!(text.ends_with("</premis>\n"));
}

#[test]
fn a_premis_document_names_the_person_who_deposited() {
    let home = fixture::home();
    let bag = home.bag("diaries", &[("a.txt", b"one")]);
    let ann = Actor::new(ActorKind::User, "ann@example.edu").at_console("root");
    let call = OpContext::new(home.home.clone(), Caller::with_role(ann, Scope::System, Role::SystemAdmin));
    let sources = vec![deposits::PackageSource::LocalPath(bag)];
    let submitted = deposits::submit(&call, deposits::Request { sources, ..Default::default() }).expect("submits");
    items::work(&call, &submitted.items, &Shutdown::new()).expect("works");
    let mut document = Vec::new();
    export::premis(&home, &home.object("diaries"), &mut document).expect("writes");
    let text = String::from_utf8(document).expect("UTF-8");
    assert_eq!(text.matches("<agentIdentifierValue>ann@example.edu</agentIdentifierValue>").count(), 1);
    assert!(text.matches("<linkingAgentIdentifierValue>ann@example.edu</linkingAgentIdentifierValue>").count() > 1);
    assert_eq!(text.matches("<agentIdentifierValue>root</agentIdentifierValue>").count(), 1, "and the account");
    assert_eq!(text.matches("<agentType").count(), 4);
}
