//! Files of any bytes, identified by the signatures that ship with the crate; the same whether they lie still or pass by.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use strongroom_pronom::{Identifier, Observed, Options};

static IDENTIFIER: LazyLock<Identifier> = LazyLock::new(|| Identifier::builtin().expect("sound signatures"));

fuzz_target!(|bytes: &[u8]| {
    let options = Options::default();
    let identified = IDENTIFIER.identify("file.doc", &bytes, &options).expect("reading memory does not fail");
    let mut observation = IDENTIFIER.observe("file.doc", &options);
    for piece in bytes.chunks(1000) {
        observation.update(piece);
    }
    let observed = match observation.finish() {
        Observed::Complete(identification) => identification,
        Observed::Container(pending) => pending.finish(&bytes).expect("reading memory does not fail"),
    };
    assert_eq!(identified.matches, observed.matches);
});
