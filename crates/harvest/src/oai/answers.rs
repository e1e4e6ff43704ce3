//! What a provider says about itself, its sets and its formats.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::oai::dates::Granularity;
use crate::oai::page::SPACE;
use crate::xml::{Node, Xml, XmlError};

/// Most bytes of one value.
const MOST_VALUE: usize = 64 << 10;
/// Most addresses, and most compressions.
const MOST_VALUES: usize = 100;

/// The answer to `Identify` (section 4.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identify {
    /// The name of the provider.
    pub repository_name: String,
    /// Its base URL, as it writes it.
    pub base_url: String,
    /// The version of the protocol.
    pub protocol_version: String,
    /// The addresses of its administrators.
    pub admin_emails: Vec<String>,
    /// A datestamp before which there is no other.
    pub earliest_datestamp: String,
    /// `no`, `transient` or `persistent` (section 2.5.1).
    pub deleted_record: String,
    /// Its granularity; days where it states none that is known.
    pub granularity: Granularity,
    /// The content codings that it has (section 3.1.3).
    pub compressions: Vec<String>,
}

/// A set (section 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetInfo {
    /// What it is asked for by, `setSpec`.
    pub spec: String,
    /// Its name for people.
    pub name: String,
}

/// A format of metadata (section 3.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataFormat {
    /// What it is asked for by, `metadataPrefix`.
    pub prefix: String,
    /// The URL of its XML schema.
    pub schema: String,
    /// Its namespace.
    pub namespace: String,
}

/// Reads the children of the element that began last that have text, as the protocol names them. Others are passed over.
fn children<R: Read>(xml: &mut Xml<R>, names: &[&str], mut take: impl FnMut(&str, String)) -> Result<(), XmlError> {
    loop {
        match xml.next()? {
            Node::Start(start) if start.space == SPACE && names.contains(&start.local.as_str()) => {
                let text = xml.text(MOST_VALUE)?;
                take(&start.local, text.trim().to_owned());
            }
            Node::Start(_) => xml.skip()?,
            Node::Text(_) => {}
            Node::End => return Ok(()),
            Node::Eof => return Err(xml.cut()),
        }
    }
}

impl Identify {
    pub(crate) fn read<R: Read>(xml: &mut Xml<R>) -> Result<Self, XmlError> {
        let mut found = Self {
            repository_name: String::new(),
            base_url: String::new(),
            protocol_version: String::new(),
            admin_emails: Vec::new(),
            earliest_datestamp: String::new(),
            deleted_record: String::new(),
            granularity: Granularity::Day,
            compressions: Vec::new(),
        };
        let names = [
            "repositoryName",
            "baseURL",
            "protocolVersion",
            "adminEmail",
            "earliestDatestamp",
            "deletedRecord",
            "granularity",
            "compression",
        ];
        children(xml, &names, |name, text| match name {
            "repositoryName" => found.repository_name = text,
            "baseURL" => found.base_url = text,
            "protocolVersion" => found.protocol_version = text,
            "adminEmail" if found.admin_emails.len() < MOST_VALUES => found.admin_emails.push(text),
            "earliestDatestamp" => found.earliest_datestamp = text,
            "deletedRecord" => found.deleted_record = text,
            "granularity" => found.granularity = Granularity::parse(&text).unwrap_or(Granularity::Day),
            "compression" if found.compressions.len() < MOST_VALUES => found.compressions.push(text),
            _ => {}
        })?;
        Ok(found)
    }
}

impl SetInfo {
    pub(crate) fn read<R: Read>(xml: &mut Xml<R>) -> Result<Self, XmlError> {
        let mut found = Self { spec: String::new(), name: String::new() };
        children(xml, &["setSpec", "setName"], |name, text| match name {
            "setSpec" => found.spec = text,
            _ => found.name = text,
        })?;
        Ok(found)
    }
}

impl MetadataFormat {
    pub(crate) fn read<R: Read>(xml: &mut Xml<R>) -> Result<Self, XmlError> {
        let mut found = Self { prefix: String::new(), schema: String::new(), namespace: String::new() };
        children(xml, &["metadataPrefix", "schema", "metadataNamespace"], |name, text| match name {
            "metadataPrefix" => found.prefix = text,
            "schema" => found.schema = text,
            _ => found.namespace = text,
        })?;
        Ok(found)
    }
}
