//! What the crate promises, in one test binary.

mod erc;
mod hostile;
mod json;
mod merging;
mod round_trip;
mod tables;
mod xml;

use strongroom_metadata::{Element, Field, Record};

/// A description of these values.
fn record(values: &[(Field, &str)]) -> Record {
    let mut record = Record::new();
    for (field, value) in values {
        record.add(*field, value).unwrap();
    }
    record
}

fn dc(element: Element) -> Field {
    Field::Element(element)
}
