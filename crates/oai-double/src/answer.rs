//! Answers as XML (section 3.2).

use crate::arguments::{Arguments, Refusal};
use crate::record::OaiRecord;

/// The time of every answer.
pub(crate) const NOW: &str = "2024-12-31T12:00:00Z";

/// An answer that is written.
pub(crate) struct Xml {
    bytes: Vec<u8>,
}

/// Text with what XML would take for markup escaped.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Xml {
    /// The beginning of an answer. Without arguments that are right, the request is named without them.
    pub(crate) fn begin(declaration: &str, base: &str, arguments: Option<&Arguments>) -> Self {
        let mut attributes = String::new();
        if let Some(arguments) = arguments {
            attributes.extend([" verb=\"", &escaped(&arguments.verb), "\""]);
            for (name, value) in &arguments.values {
                attributes.extend([" ", name, "=\"", &escaped(value), "\""]);
            }
        }
        let text = format!(
            "{declaration}<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
             xsi:schemaLocation=\"http://www.openarchives.org/OAI/2.0/ http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd\">\n\
             <responseDate>{NOW}</responseDate>\n<request{attributes}>{}</request>\n",
            escaped(base)
        );
        Self { bytes: text.into_bytes() }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// An element with text.
    pub(crate) fn element(&mut self, name: &str, text: &str) {
        self.push(&format!("<{name}>{}</{name}>\n", escaped(text)));
    }

    pub(crate) fn header(&mut self, record: &OaiRecord, has_seconds: bool) {
        self.push(if record.is_deleted { "<header status=\"deleted\">" } else { "<header>" });
        self.element("identifier", &record.id);
        let length = if has_seconds { record.datestamp.len() } else { 10 };
        self.element("datestamp", record.datestamp.get(..length).unwrap_or_default());
        for set in &record.sets {
            self.element("setSpec", set);
        }
        self.push("</header>\n");
    }

    pub(crate) fn record(&mut self, record: &OaiRecord, has_seconds: bool) {
        self.push("<record>");
        self.header(record, has_seconds);
        if !record.is_deleted {
            self.push("<metadata>");
            self.bytes.extend_from_slice(&record.metadata);
            self.push("</metadata>");
        }
        self.push("</record>\n");
    }

    pub(crate) fn error(&mut self, (code, text): &Refusal) {
        self.push(&format!("<error code=\"{code}\">{}</error>\n", escaped(text)));
    }

    /// Ends the answer in its middle.
    pub(crate) fn cut(mut self) -> Vec<u8> {
        let last = self.bytes.windows(8).rposition(|part| part == b"<record>").unwrap_or(self.bytes.len() / 2);
        self.bytes.truncate(last + 40);
        self.bytes
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.push("</OAI-PMH>\n");
        self.bytes
    }
}
