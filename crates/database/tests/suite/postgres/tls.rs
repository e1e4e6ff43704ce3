//! TLS: what each `sslmode` accepts of a server's certificate.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use strongroom_database::testing::{Stop, own_server};

use super::{settings, try_open};

/// An authority, and a certificate of it for the name `localhost` and no address.
const STEPS: [&str; 3] = [
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem \
     -addext basicConstraints=critical,CA:TRUE",
    "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr",
    "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem -extfile server.ext",
];

fn make_certificates(folder: &Path) -> Option<()> {
    std::fs::write(folder.join("server.ext"), "subjectAltName=DNS:localhost\n").expect("writes");
    for step in STEPS {
        let made = Command::new("openssl").args(step.split_whitespace()).current_dir(folder).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("SKIPPED: TLS to PostgreSQL: openssl cannot make certificates here");
            return None;
        }
    }
    let owner = std::fs::metadata(folder).expect("is there");
    for name in ["server.key", "server.pem"] {
        let path = folder.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("is set");
        chown(&path, Some(owner.uid()), Some(owner.gid())).expect("is given");
    }
    Some(())
}

#[test]
fn each_mode_accepts_what_it_says() {
    let Some(mut server) = own_server() else { return };
    let folder = server.folder();
    let Some(()) = make_certificates(&folder) else { return };
    let plain = server.url();
    let required = |url: &str| try_open(&format!("{url}?sslmode=require"), settings()).err();
    assert!(required(&plain).is_some(), "the server has no TLS yet");
    try_open(&format!("{plain}?sslmode=prefer"), settings()).expect("goes without");
    server.stop(Stop::Fast).expect("stops");
    let file = |name: &str| folder.join(name).display().to_string();
    let with_tls = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", file("server.pem")),
        format!("ssl_key_file={}", file("server.key")),
    ];
    server.begin_with(&with_tls).expect("starts");

    let named = plain.replace("127.0.0.1", "localhost");
    let authority = format!("sslrootcert={}", file("ca.pem"));
    for accepted in [
        format!("{plain}?sslmode=disable"),
        format!("{plain}?sslmode=prefer"),
        format!("{plain}?sslmode=require"),
        format!("{plain}?sslmode=verify-ca&{authority}"),
        format!("{plain}?sslmode=require&{authority}"),
        format!("{named}?sslmode=verify-full&{authority}"),
    ] {
        try_open(&accepted, settings()).unwrap_or_else(|error| panic!("{accepted}: {error}"));
    }
    for refused in [
        // The certificate does not name the address.
        format!("{plain}?sslmode=verify-full&{authority}"),
        // Nobody knows the authority.
        format!("{named}?sslmode=verify-full&sslrootcert={}", file("server.pem")),
        format!("{named}?sslmode=verify-full&sslrootcert={}", file("nothing.pem")),
    ] {
        assert!(try_open(&refused, settings()).is_err(), "{refused}");
    }
}
