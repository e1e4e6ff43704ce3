//! The elements of byte sequences, which both kinds of signature files share: `InternalSignature` and what is in it.

use super::assembly::{Assembly, ByteSequence, Fragment, Reference, SubSequence};
use super::reader::{Element, Reader};
use crate::error::PronomError;
use crate::pattern::Sequence;

/// Reads an `InternalSignature` up to its end. `signature` names it in errors.
pub(super) fn read(
    reader: &mut Reader<'_>,
    element: &Element<'_>,
    signature: &str,
    assembly: &mut Assembly,
) -> Result<Vec<Sequence>, PronomError> {
    let mut sequences = Vec::new();
    while let Some(child) = reader.child(element)? {
        if child.name() == "ByteSequence" {
            let sequence = byte_sequence(reader, &child)?;
            sequences.push(assembly.sequence(signature, &sequence)?);
        }
    }
    Ok(sequences)
}

fn byte_sequence(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<ByteSequence, PronomError> {
    let reference = match reader.attribute(element, "Reference")?.as_deref() {
        Some("BOFoffset") => Reference::Beginning,
        Some("EOFoffset") => Reference::End,
        None | Some("Variable") => Reference::Anywhere,
        Some(other) => {
            let reason = format!("{other:?} is no reference that a sequence can be measured from");
            return Err(reader.fault(element.position, &reason));
        }
    };
    let mut subsequences = Vec::new();
    while let Some(child) = reader.child(element)? {
        if child.name() == "SubSequence" {
            subsequences.push(subsequence(reader, &child)?);
        }
    }
    Ok(ByteSequence { reference, subsequences })
}

fn subsequence(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<SubSequence, PronomError> {
    let mut subsequence = SubSequence {
        min: reader.number(element, "SubSeqMinOffset")?,
        max: reader.number(element, "SubSeqMaxOffset")?,
        ..SubSequence::default()
    };
    let mut pattern = None;
    while let Some(child) = reader.child(element)? {
        match child.name() {
            "Sequence" if pattern.is_some() => {
                return Err(reader.fault(child.position, "a second pattern in one subsequence"));
            }
            "Sequence" => pattern = Some(reader.text(&child)?),
            "LeftFragment" => subsequence.left.push(fragment(reader, &child)?),
            "RightFragment" => subsequence.right.push(fragment(reader, &child)?),
            _ => {}
        }
    }
    subsequence.pattern = pattern.ok_or_else(|| reader.fault(element.position, "a subsequence without a pattern"))?;
    Ok(subsequence)
}

fn fragment(reader: &mut Reader<'_>, element: &Element<'_>) -> Result<Fragment, PronomError> {
    Ok(Fragment {
        position: reader.id(element, "Position")?,
        min: reader.number(element, "MinOffset")?,
        max: reader.number(element, "MaxOffset")?,
        pattern: reader.text(element)?,
    })
}
