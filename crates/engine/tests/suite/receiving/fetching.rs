//! Uploads of bags of which a part is at a web server.

use strongroom_digest::hash_reader;
use strongroom_engine::workflow::Workflows;
use strongroom_registry::items::Request;
use strongroom_web_double::{Behaviour, WebDouble};

use super::*;
use crate::fixture::home_with;

/// A home that may download from the server, and an upload of a bag that lacks `data/b.txt`, as a tar.
fn uploaded(web: &WebDouble) -> TestHome {
    let home = home_with(&format!(
        "[workers.default]\nmax_attempts = 1\n[ingest]\nfetch_txt = true\nallow_private_addresses = true\nurl_hosts = [\"{}\"]\n",
        web.authority()
    ));
    let digest = |text: &str| hash_reader(text.as_bytes(), &[Algorithm::Sha256]).expect("hashes").1;
    let digest = |text: &str| digest(text).get(Algorithm::Sha256).expect("computed").to_hex();
    let files = [
        ("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n".to_owned()),
        ("manifest-sha256.txt", format!("{}  data/a.txt\n{}  data/b.txt\n", digest("alpha"), digest("beta"))),
        ("fetch.txt", format!("{} 4 data/b.txt\n", web.url("/b"))),
        ("data/a.txt", "alpha".to_owned()),
    ];
    let mut archive = tar::Builder::new(fs::File::create(place(&home, "letters.tar")).expect("makes it"));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("letters/{name}"), text.as_bytes()).expect("adds a file");
    }
    archive.finish().expect("ends");
    home
}

#[test]
fn an_upload_is_completed_by_what_its_fetch_txt_names_and_removed_when_it_is_kept() {
    let web = WebDouble::start();
    web.put("/b", "beta");
    let home = uploaded(&web);
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    let items = all_items(&home);
    assert_eq!(items[0].status, ItemStatus::Succeeded, "{:?}", items[0].note);
    let object = home.object("letters");
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["deposit/data/a.txt", "deposit/data/b.txt"]);
    assert!(home.keys("receiving").is_empty());
}

#[test]
fn an_upload_of_which_a_file_cannot_be_fetched_fails_and_stays() {
    let web = WebDouble::start();
    web.put("/b", "beta");
    web.on("/b", Behaviour::NotFound);
    let home = uploaded(&web);
    settle(&home);
    work(&home);
    let items = all_items(&home);
    assert_eq!(items[0].status, ItemStatus::Failed);
    assert!(items[0].note.as_deref().is_some_and(|note| note.contains("404")), "{:?}", items[0].note);
    assert_eq!(home.keys("receiving").len(), 1, "it is not removed as an invalid bag");
    web.mend("/b");
    let id = items[0].id;
    home.registry
        .write(move |tx| {
            items::request(tx, &Workflows::standard(), Scope::System, id, Request::Requeue(None), "a person")
        })
        .expect("is requeued");
    work(&home);
    assert_eq!(all_items(&home)[0].status, ItemStatus::Succeeded);
    assert!(home.keys("receiving").is_empty());
}
