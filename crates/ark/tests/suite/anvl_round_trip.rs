//! Elements in any script come back from a server as they were sent.

use proptest::prelude::*;
use strongroom_ark::Elements;

use crate::ezid::{Bench, ark};

/// Texts in any script, with the characters that ANVL gives a meaning.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "%",
        "%25",
        "%0A",
        "%C3%A9",
        ":",
        "\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "#",
        "é",
        "文",
        "א",
        "🗝",
        "\u{2028}",
        "\u{85}",
        "${identifier}",
    ]);
    let part = prop_oneof![special.prop_map(str::to_owned), any::<char>().prop_map(String::from), "\\PC{1,6}"];
    prop::collection::vec(part, 1..8).prop_map(|parts| parts.concat())
}

#[test]
fn names_and_values_in_any_script_come_back() {
    let bench = Bench::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let elements = prop::collection::vec((text(), text()), 0..6);
    runner
        .run(&elements, |pairs| {
            let mut elements = Elements::new();
            for (name, value) in &pairs {
                let name = format!("x{name}");
                elements = elements.with(&name, value);
            }
            let ark = ark("ark:/99999/fk4x");
            bench.client.create_or_update(&ark, &elements).unwrap();
            let registered = bench.client.get(&ark).unwrap().unwrap();
            for (name, value) in elements.iter().filter(|(_, value)| !value.is_empty()) {
                prop_assert_eq!(registered.elements.get(name), Some(value));
            }
            Ok(())
        })
        .unwrap();
}
