//! A description of an object: for each field a list of values.

use std::collections::BTreeMap;

use crate::error::{MetadataError, Place};
use crate::field::{Element, Field};
use crate::limits::Limits;

/// A description: for each [`Field`] the values that it has, in order.
///
/// Values are texts without white space at their ends, with line feeds as the only line ends, and without characters that XML cannot
/// express. What is empty, and what is nothing but a code of ERC for a missing value such as `(:unas)`, is not a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    values: BTreeMap<Field, Vec<String>>,
}

/// Codes of ERC that say that there is no value, and why.
const NO_VALUE: [&str; 8] = ["unac", "unal", "unap", "unas", "unav", "unkn", "none", "null"];

impl Record {
    /// A description that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, within the default [`Limits`].
    ///
    /// # Errors
    /// [`MetadataError::TooManyValues`], [`MetadataError::ValueTooLong`] and [`MetadataError::Character`].
    pub fn add(&mut self, field: Field, value: &str) -> Result<(), MetadataError> {
        self.add_at(Place::NO_FILE, field, value, &Limits::default())
    }

    /// Adds the values of a text: those between `;` where [`Field::is_split`], else the text as one value.
    ///
    /// # Errors
    /// As [`Record::add`].
    pub fn add_split(&mut self, field: Field, text: &str) -> Result<(), MetadataError> {
        self.add_split_at(Place::NO_FILE, field, text, &Limits::default())
    }

    pub(crate) fn add_split_at(
        &mut self,
        place: Place,
        field: Field,
        text: &str,
        limits: &Limits,
    ) -> Result<(), MetadataError> {
        if !field.is_split() {
            return self.add_at(place, field, text, limits);
        }
        text.split(';').try_for_each(|value| self.add_at(place, field, value, limits))
    }

    pub(crate) fn add_at(
        &mut self,
        place: Place,
        field: Field,
        value: &str,
        limits: &Limits,
    ) -> Result<(), MetadataError> {
        let value = value.trim();
        if value.is_empty() || is_no_value(value) {
            return Ok(());
        }
        if value.len() > limits.value_bytes {
            let limit = limits.value_bytes;
            return Err(MetadataError::ValueTooLong { place, field, found: value.len(), limit });
        }
        let value =
            if value.contains('\r') { value.replace("\r\n", "\n").replace('\r', "\n") } else { value.to_owned() };
        if let Some(character) = value.chars().find(|&character| !is_allowed(character)) {
            return Err(MetadataError::Character { place, field, character });
        }
        if self.len() >= limits.values {
            return Err(MetadataError::TooManyValues { place, limit: limits.values });
        }
        self.values.entry(field).or_default().push(value);
        Ok(())
    }

    /// The values of a field; none where it has none.
    pub fn values(&self, field: Field) -> &[String] {
        self.values.get(&field).map_or(&[], Vec::as_slice)
    }

    /// The first value of a field.
    pub fn first(&self, field: Field) -> Option<&str> {
        self.values(field).first().map(String::as_str)
    }

    /// The values of a field with `"; "` between them, for a place that takes one text.
    pub fn joined(&self, field: Field) -> Option<String> {
        let values = self.values(field);
        (!values.is_empty()).then(|| values.join("; "))
    }

    /// The fields that have values, with them.
    pub fn fields(&self) -> impl Iterator<Item = (Field, &[String])> {
        self.values.iter().map(|(field, values)| (*field, values.as_slice()))
    }

    /// How many values there are in all.
    pub fn len(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes the values of a field.
    pub fn clear(&mut self, field: Field) {
        self.values.remove(&field);
    }

    /// The part that an ERC file has: who, what, when and where.
    #[must_use]
    pub fn erc(&self) -> Self {
        self.part(|field| Field::ERC.contains(&field))
    }

    /// The part that a Dublin Core file has: the 15 elements.
    #[must_use]
    pub fn dublin_core(&self) -> Self {
        self.part(|field| matches!(field, Field::Element(_)))
    }

    /// What the elements of Dublin Core say in the words of ERC: the creators as who, the first title as what, the first date as when. Of
    /// creators that are too many for one value, the last ones are replaced by `(:etal)`.
    #[must_use]
    pub fn implied_erc(&self) -> Self {
        let mut implied = Self::new();
        let creators = self.values(Field::Element(Element::Creator));
        if let Some(who) = joined_within(creators, Limits::default().value_bytes) {
            implied.values.insert(Field::Who, vec![who]);
        }
        for (field, element) in [(Field::What, Element::Title), (Field::When, Element::Date)] {
            if let Some(value) = self.first(Field::Element(element)) {
                implied.values.insert(field, vec![value.to_owned()]);
            }
        }
        implied
    }

    /// Takes every field of another description that this one lacks.
    pub(crate) fn fill_from(&mut self, other: &Self) {
        for (field, values) in &other.values {
            self.values.entry(*field).or_insert_with(|| values.clone());
        }
    }

    /// Takes every field that another description has.
    pub(crate) fn overwrite_from(&mut self, other: &Self) {
        for (field, values) in &other.values {
            self.values.insert(*field, values.clone());
        }
    }

    /// Replaces the values of a field by values of other descriptions.
    pub(crate) fn replace(&mut self, field: Field, values: Vec<String>) {
        if values.is_empty() {
            self.clear(field);
        } else {
            self.values.insert(field, values);
        }
    }

    fn part(&self, is_part: impl Fn(Field) -> bool) -> Self {
        let values = self.values.iter().filter(|(field, _)| is_part(**field));
        Self { values: values.map(|(field, values)| (*field, values.clone())).collect() }
    }
}

/// Values with `"; "` between them, in at most so many bytes.
fn joined_within(values: &[String], most: usize) -> Option<String> {
    const ETAL: &str = "; (:etal)";
    let (first, rest) = values.split_first()?;
    let mut joined = first.clone();
    for (at, value) in rest.iter().enumerate() {
        let reserve = if at + 1 == rest.len() { 0 } else { ETAL.len() };
        if joined.len() + 2 + value.len() + reserve > most {
            // A first value that is as long as a value may be leaves no room.
            if joined.len() + ETAL.len() <= most {
                joined.push_str(ETAL);
            }
            break;
        }
        joined.push_str("; ");
        joined.push_str(value);
    }
    Some(joined)
}

fn is_no_value(value: &str) -> bool {
    let code = value.strip_prefix("(:").and_then(|rest| rest.strip_suffix(')'));
    code.is_some_and(|code| NO_VALUE.iter().any(|known| known.eq_ignore_ascii_case(code)))
}

/// Whether XML 1.0 can express a character (section 2.2).
fn is_allowed(character: char) -> bool {
    !matches!(character, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}
