//! A description as a flat JSON object.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Format, MetadataError, Place};
use crate::field::Field;
use crate::limits::Limits;
use crate::reading::text_of;
use crate::record::Record;

const FORMAT: Format = Format::Json;

/// Reads a JSON object of field names (see [`Field::of_name`]) and their values: a string, a number, `null` for none, or a list of
/// these. A name that is not known, and one that occurs twice, are errors: they are typing errors that would lose a value.
///
/// # Errors
/// Every [`MetadataError`] about a file.
///
/// ```
/// use strongroom_metadata::{Element, Field, Limits, read_json, write_json};
///
/// # fn main() -> Result<(), strongroom_metadata::MetadataError> {
/// let record = read_json(br#"{"who": "Lovelace, Ada", "subject": ["engines", "notes"]}"#, &Limits::default())?;
/// assert_eq!(record.values(Field::Element(Element::Subject)), ["engines", "notes"]);
/// assert_eq!(read_json(write_json(&record).as_bytes(), &Limits::default())?, record);
/// # Ok(())
/// # }
/// ```
pub fn read_json(bytes: &[u8], limits: &Limits) -> Result<Record, MetadataError> {
    let text = text_of(FORMAT, bytes, limits)?;
    let Object(fields) = serde_json::from_str(text).map_err(|error| MetadataError::Syntax {
        place: Place { format: Some(FORMAT), line: Some(error.line() as u64).filter(|&line| line > 0) },
        reason: without_position(&error.to_string()),
    })?;
    let mut record = Record::new();
    let mut seen = Vec::new();
    let place = Place::file(FORMAT);
    for (name, values) in fields {
        let Some(field) = Field::of_name(&name) else { return Err(MetadataError::UnknownField { place, name }) };
        if seen.contains(&field) {
            return Err(MetadataError::Syntax { place, reason: format!("the field {field} occurs twice") });
        }
        seen.push(field);
        for value in values {
            record.add_at(place, field, &value, limits)?;
        }
    }
    Ok(record)
}

/// Writes a description as an object that [`read_json`] reads: a string for one value, a list for more.
pub fn write_json(record: &Record) -> String {
    let object: Map<String, Value> = record
        .fields()
        .map(|(field, values)| {
            let value = match values {
                [value] => Value::from(value.as_str()),
                values => Value::from(values),
            };
            (field.as_str().to_owned(), value)
        })
        .collect();
    format!("{:#}\n", Value::Object(object))
}

/// The message of the parser without the position at its end, which the error says elsewhere.
fn without_position(message: &str) -> String {
    message.split_once(" at line ").map_or(message, |(before, _)| before).to_owned()
}

/// Names with their values, as they stand.
struct Object(Vec<(String, Vec<String>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of field names and values")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
                let mut fields = Vec::new();
                while let Some((name, Values(values))) = map.next_entry()? {
                    fields.push((name, values));
                }
                Ok(Object(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// One value or a list of them.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMore { is_within_list: false }).map(Self)
    }
}

/// A value within a list.
struct Member(Vec<String>);

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMore { is_within_list: true }).map(Self)
    }
}

struct OneOrMore {
    is_within_list: bool,
}

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_within_list { "a string" } else { "a string or a list of strings" })
    }

    fn visit_str<E>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_u64<E>(self, number: u64) -> Result<Vec<String>, E> {
        Ok(vec![number.to_string()])
    }

    fn visit_i64<E>(self, number: i64) -> Result<Vec<String>, E> {
        Ok(vec![number.to_string()])
    }

    fn visit_f64<E>(self, number: f64) -> Result<Vec<String>, E> {
        Ok(vec![number.to_string()])
    }

    fn visit_unit<E>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut members: S) -> Result<Vec<String>, S::Error> {
        if self.is_within_list {
            // The rest is read so that the parser knows its place.
            while members.next_element::<IgnoredAny>()?.is_some() {}
            return Err(S::Error::custom("a list within a list is not a value"));
        }
        let mut values = Vec::new();
        while let Some(Member(member)) = members.next_element()? {
            values.extend(member);
        }
        Ok(values)
    }
}
