//! The signature syntax: from text to links.

use super::Link;
use crate::error::PronomError;

/// Parses a pattern, the whole syntax of binary and container signatures alike, into links in file order. A gap at the
/// pattern's end is returned apart.
pub fn parse_pattern(_signature: &str, _pattern: &str) -> Result<(Vec<Link>, super::Gap), PronomError> {
    todo!()
}
