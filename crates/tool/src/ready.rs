//! Configurations of known tools, each in one file. They are what is run where nothing else is configured, and what a configuration
//! begins with: every field can be changed.

use crate::error::ToolError;
use crate::tool::Tool;

/// The names and the TOML of the configurations.
pub const CONFIGURATIONS: [(&str, &str); 5] = [
    ("clamdscan", include_str!("ready/clamdscan.toml")),
    ("clamscan", include_str!("ready/clamscan.toml")),
    ("jhove", include_str!("ready/jhove.toml")),
    ("mediainfo", include_str!("ready/mediainfo.toml")),
    ("verapdf", include_str!("ready/verapdf.toml")),
];

/// The configuration of a known tool.
///
/// # Errors
/// [`ToolError::Configuration`] where there is none of this name; it says which there are.
pub fn tool(name: &str) -> Result<Tool, ToolError> {
    let fails = |reason| ToolError::Configuration { tool: name.to_owned(), reason };
    let found = CONFIGURATIONS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| {
        let known = CONFIGURATIONS.map(|(known, _)| known).join(", ");
        fails(format!("there is no ready configuration of this name; there are {known}"))
    })?;
    toml::from_str(text).map_err(|error| fails(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_is_valid_and_has_the_name_of_its_file() {
        for (name, _) in CONFIGURATIONS {
            let prepared = tool(name).unwrap().prepare().unwrap();
            assert_eq!(prepared.tool().name, name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        assert!(tool("nothing").unwrap_err().to_string().contains("clamdscan"));
    }
}
