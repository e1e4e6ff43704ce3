//! Fields of a JSON value, by JSON Pointers (RFC 6901) in which a step may be `*`.

use serde_json::Value;

use super::{Fields, MOST_VALUES, add};

pub(super) fn read(bytes: &[u8], pointers: &[(String, String)], fields: &mut Fields) -> Result<(), String> {
    // Nested values beyond the parser's own depth are an error there.
    let root: Value = serde_json::from_slice(bytes).map_err(|error| format!("the output is no JSON: {error}"))?;
    for (name, pointer) in pointers {
        for value in found(&root, pointer) {
            match value {
                Value::Null | Value::Array(_) | Value::Object(_) => {}
                Value::String(text) => add(fields, name, text),
                Value::Bool(_) | Value::Number(_) => add(fields, name, &value.to_string()),
            }
        }
    }
    Ok(())
}

/// What a pointer names. The number of values that are followed is bounded at each step.
fn found<'v>(root: &'v Value, pointer: &str) -> Vec<&'v Value> {
    let mut values = vec![root];
    for step in pointer.split('/').skip(1) {
        let below = |value: &'v Value| -> Vec<&'v Value> {
            match (value, step) {
                (Value::Array(elements), "*") => elements.iter().collect(),
                (Value::Object(members), "*") => members.values().collect(),
                (Value::Array(elements), _) => {
                    step.parse().ok().and_then(|index: usize| elements.get(index)).into_iter().collect()
                }
                (Value::Object(members), _) => {
                    members.get(&step.replace("~1", "/").replace("~0", "~")).into_iter().collect()
                }
                _ => Vec::new(),
            }
        };
        values = values.into_iter().flat_map(below).take(10 * MOST_VALUES).collect();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, pointer: &str) -> Vec<String> {
        let mut fields = Fields::new();
        read(text.as_bytes(), &[("f".to_owned(), pointer.to_owned())], &mut fields).unwrap();
        fields.remove("f").unwrap_or_default()
    }

    #[test]
    fn pointers_name_values() {
        let text = r#"{"a": [{"b": 1}, {"b": "x"}, {"b": null}, {"b": [2]}], "c/d~": true, "": "e"}"#;
        assert_eq!(values(text, "/a/0/b"), ["1"]);
        assert_eq!(values(text, "/a/*/b"), ["1", "x"]);
        assert_eq!(values(text, "/c~1d~0"), ["true"]);
        assert_eq!(values(text, "/"), ["e"]);
        assert_eq!(values(text, "/a/9/b"), [""; 0]);
        assert_eq!(values("\"whole\"", ""), ["whole"]);
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for text in [&b"{"[..], b"", b"{\"a\": \"\xff\"}", "[".repeat(100_000).as_bytes()] {
            assert!(read(text, &[], &mut Fields::new()).is_err());
        }
    }
}
