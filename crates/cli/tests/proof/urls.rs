//! Deposits by URL, from a web server of this machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;

use crate::homes::nothing_is_left;
use crate::program::Place;

/// Serves the files of a folder to whoever asks, until the test ends.
fn serve(folder: PathBuf) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away is its own affair.
            let _ = answer(stream, &folder);
        }
    });
    address
}

fn answer(mut stream: TcpStream, folder: &std::path::Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let Ok(bytes) = fs::read(folder.join(path.trim_start_matches('/'))) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
    stream.write_all(head.as_bytes())?;
    if method == "GET" {
        stream.write_all(&bytes)?;
    }
    Ok(())
}

#[test]
fn a_bag_is_taken_from_an_allowed_server_and_from_no_other() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let address = serve(place.path("."));
    let url = format!("http://{address}/greeting.tar");
    let deposit = ["deposit", url.as_str(), "--wait", "--json"];
    let hosts = address.to_string();

    // Nothing is allowed by itself; and an allowed name is not yet an allowed network.
    for (environment, words) in [
        (vec![], "host is not among the allowed hosts"),
        (vec![("STRONGROOM_INGEST__URL_HOSTS", hosts.as_str())], "no address in a public network"),
    ] {
        let answer = place.run_with(&environment, deposit);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let item = answer.object();
        assert_eq!(item["status"], "failed", "{item}");
        assert!(item["note"].as_str().unwrap().contains(words), "{item}");
        assert!(!item["note"].as_str().unwrap().contains("attempts"), "refused at once: {item}");
    }

    let environment =
        [("STRONGROOM_INGEST__URL_HOSTS", hosts.as_str()), ("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true")];
    let item = place.run_with(&environment, deposit).succeeds().object();
    assert_eq!((&item["status"], &item["version"]), (&"succeeded".into(), &1.into()), "{item}");
    assert_eq!(item["object"], "example.edu/greeting");

    let gone = format!("http://{address}/no.tar");
    let answer = place.run_with(&environment, ["deposit", gone.as_str(), "--wait", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.object()["note"].as_str().unwrap().contains("404"));

    // A digest that is declared is compared while the package is read.
    let digest = format!("sha256:{}", "0".repeat(64));
    let answer = place.run_with(&environment, ["deposit", url.as_str(), "--digest", &digest, "--wait", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let item = answer.object();
    assert_eq!(item["status"], "failed", "{item}");
    assert!(item["note"].as_str().unwrap().contains(&digest), "{item}");
    nothing_is_left(&place);
}
