//! Sizes that a manifest does not state are asked for, and never needed.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use strongroom_download::Policy;
use strongroom_registry::ItemStatus;
use strongroom_web_double::{Behaviour, WebDouble};

use super::world::{OBJECT, ONE_ATTEMPT, World, contents, manifest};
use crate::fixture;

/// What every file of the [`gate`] is.
const FILE: &[u8] = b"gathered";

/// A server that answers requests for sizes when so many have come, and all others at once. Its address, and for each request for a size
/// a message.
fn gate(gathered: usize) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (asked, heard) = channel();
    std::thread::spawn(move || {
        let mut waiting: Vec<TcpStream> = Vec::new();
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut lines = BufReader::new(connection.try_clone().expect("a connection")).lines();
            let request = lines.next().expect("a request").expect("reads");
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            if !request.starts_with("HEAD ") {
                answer(&mut connection, FILE);
                continue;
            }
            waiting.push(connection);
            if waiting.len() == gathered {
                waiting.drain(..).for_each(|mut connection| answer(&mut connection, b""));
            }
            // Nothing is heard where the test has ended.
            let _ = asked.send(());
        }
    });
    (address, heard)
}

fn answer(connection: &mut TcpStream, body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", FILE.len());
    // The client may not want it any more.
    drop(connection.write_all(&[head.as_bytes(), body].concat()));
}

/// A manifest of so many files of a server, of which it says neither digest nor size.
fn bare_manifest(address: &str, count: usize) -> String {
    let rows: Vec<String> =
        (0..count).map(|number| format!("http://{address}/{number} | | | | | {number}.bin |")).collect();
    manifest(OBJECT, &rows)
}

/// A world that may download from a server.
fn world_of(address: &str, settings: &str) -> World {
    let mut world = World::of(fixture::home_with(&format!("{ONE_ATTEMPT}{settings}")), WebDouble::start());
    let policy = Policy { hosts: vec![address.to_owned()], ..world.policy() };
    world.download_within(policy);
    world
}

#[test]
fn every_size_that_a_manifest_does_not_state_is_asked_for() {
    let world = World::new();
    let names: Vec<String> = (0..250).map(|number| format!("{number}.bin")).collect();
    for (number, name) in names.iter().enumerate() {
        world.web.put(&format!("/{name}"), vec![7; number]);
        if number % 3 == 0 {
            world.web.on(&format!("/{name}"), Behaviour::NoHead);
        }
    }
    // An empty file has a size, too.
    let stated = |number: usize| if number.is_multiple_of(5) { number.to_string() } else { String::new() };
    let rows: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| format!("{} | | | {} | | {name} |", world.web.url(&format!("/{name}")), stated(number)))
        .collect();
    let item = world.deposit(&world.request(world.write("many.checkm", manifest(OBJECT, &rows)))).remove(0);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let bytes: usize = (0..250).sum();
    assert_eq!(item.size, Some(bytes as u64));
    let notes = world.notes(item.id);
    assert!(notes.contains(&format!("{bytes} bytes to ingest")), "{notes:?}");
    let asked = world.web.requests().iter().filter(|request| request.method == "HEAD").count();
    assert_eq!(asked, 200, "one for each row without a size");
}

#[test]
fn sizes_are_asked_for_several_at_a_time() {
    let (address, _heard) = gate(4);
    let world = world_of(&address, "");
    let items = world.deposit(&world.request(world.write("four.checkm", bare_manifest(&address, 4))));
    assert_eq!(items[0].status, ItemStatus::Succeeded, "{:?}", items[0].note);
    assert_eq!(items[0].size, Some(4 * FILE.len() as u64));
}

#[test]
fn a_size_that_is_not_told_in_time_is_unknown_and_the_deposit_goes_on() {
    for (timeout, is_asked) in [("100ms", true), ("0s", false)] {
        let (address, heard) = gate(usize::MAX);
        let world = world_of(&address, &format!("[ingest]\nsize_timeout = \"{timeout}\"\n"));
        let items = world.deposit(&world.request(world.write("one.checkm", bare_manifest(&address, 1))));
        assert_eq!(items[0].status, ItemStatus::Succeeded, "{:?}", items[0].note);
        assert!(world.notes(items[0].id).contains(&"its size will be known when it is read".to_owned()));
        assert_eq!(world.deposited(&world.object("one"), 1), contents(&[("0.bin", FILE)]));
        assert_eq!(heard.try_recv().is_ok(), is_asked, "{timeout}");
    }
}
