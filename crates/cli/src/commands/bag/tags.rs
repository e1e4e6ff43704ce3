//! The tags of a bag that is to be made: given by options, read from a file, and asked for at a terminal.

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use strongroom_bagit::{BagOptions, TagRule, read_tags};

use crate::commands::confirm::is_person;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{counted, printable};

const BAG_INFO: &str = "bag-info.txt";

/// Tags in order, as (label, value).
type Tags = Vec<(String, String)>;

/// A tag that was given by `--tag`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenTag {
    /// The tag file.
    file: String,
    label: String,
    value: String,
}

impl FromStr for GivenTag {
    type Err = String;

    /// `LABEL: VALUE` or `LABEL=VALUE`, whichever separator comes first; before the label a tag file and `/`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (label, value) = label_and_value(text)?;
        let (file, label) = match label.rsplit_once('/') {
            Some((file, label)) if Path::new(file).extension().is_some_and(|ending| ending == "txt") => {
                (file.to_owned(), label.to_owned())
            }
            _ => (BAG_INFO.to_owned(), label),
        };
        if label.is_empty() {
            return Err("there is no label before the colon".to_owned());
        }
        Ok(Self { file, label, value })
    }
}

fn label_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once([':', '=']) {
        Some((label, value)) if !label.trim().is_empty() => Ok((label.trim().to_owned(), value.trim().to_owned())),
        _ => Err("it has not the form LABEL: VALUE".to_owned()),
    }
}

/// `PATH-IN-BAG=FILE`.
pub(super) fn path_and_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((path, file)) if !path.is_empty() => Ok((path.to_owned(), PathBuf::from(file))),
        _ => Err("it has not the form PATH-IN-BAG=FILE".to_owned()),
    }
}

macro_rules! standard_tags {
    ($($field:ident $label:literal)*) => {
        /// The reserved tags of `bag-info.txt` (RFC 8493 section 2.2.2) by options of their own.
        #[derive(Debug, Args)]
        #[command(next_help_heading = "Tags of bag-info.txt, each as --tag")]
        pub(super) struct StandardTags {
            $(
                #[doc = concat!("The tag ", $label)]
                #[arg(long, value_name = "VALUE")]
                $field: Option<String>,
            )*
        }

        impl StandardTags {
            fn given(&self) -> Tags {
                let all = [$(($label, &self.$field)),*];
                all.into_iter().filter_map(|(label, value)| Some((label.to_owned(), value.clone()?))).collect()
            }
        }
    };
}

standard_tags! {
    source_organization "Source-Organization"
    organization_address "Organization-Address"
    contact_name "Contact-Name"
    contact_phone "Contact-Phone"
    contact_email "Contact-Email"
    external_description "External-Description"
    external_identifier "External-Identifier"
    bag_size "Bag-Size"
    bag_group_identifier "Bag-Group-Identifier"
    bag_count "Bag-Count"
    internal_sender_identifier "Internal-Sender-Identifier"
    internal_sender_description "Internal-Sender-Description"
    bagit_profile_identifier "BagIt-Profile-Identifier"
}

/// All tags that were given: those of `bag-info.txt`, then those of other tag files.
pub(super) fn gather(
    file: Option<&Path>,
    standard: &StandardTags,
    given: &[GivenTag],
) -> Result<(Tags, Vec<(String, Tags)>), Failure> {
    let mut by_option = standard.given();
    let mut others: Vec<(String, Tags)> = Vec::new();
    for GivenTag { file, label, value } in given {
        let tag = (label.clone(), value.clone());
        if file == BAG_INFO {
            by_option.push(tag);
        } else {
            tags_of(&mut others, file).push(tag);
        }
    }
    let mut bag_info = Tags::new();
    if let Some(file) = file {
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let message = format!("--bag-info names {}, which is no regular file", file.display());
            return Err(Failure::usage(message).next("name a file with lines LABEL: VALUE"));
        }
        let read = read_tags(BAG_INFO, file).map_err(Failure::from)?;
        let is_replaced = |label: &str| by_option.iter().any(|(given, _)| given.eq_ignore_ascii_case(label));
        bag_info.extend(read.into_iter().filter(|tag| !is_replaced(&tag.label)).map(|tag| (tag.label, tag.value)));
    }
    bag_info.append(&mut by_option);
    Ok((bag_info, others))
}

fn tags_of<'t>(files: &'t mut Vec<(String, Tags)>, file: &str) -> &'t mut Tags {
    let at = files.iter().position(|(name, _)| name == file).unwrap_or_else(|| {
        files.push((file.to_owned(), Tags::new()));
        files.len() - 1
    });
    &mut files[at].1
}

/// Asks at a terminal for the tags that the profile requires and that are missing. Elsewhere nothing is asked, and the bag is
/// refused with the names of all of them. `check` is called before the first question: what stands in the way of the bag already.
pub(super) fn ask(
    options: &mut BagOptions,
    context: &Context,
    check: &dyn Fn(&BagOptions) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(profile) = options.profile.clone() else { return Ok(()) };
    let missing = profile.missing_tags(options)?;
    if missing.is_empty() || !is_person(context) {
        return Ok(());
    }
    check(options)?;
    let tags = counted(missing.len() as u64, "more tag", "more tags");
    eprintln!("profile {} requires {tags}; Ctrl-D ends the questions", printable(profile.name()));
    for rule in missing {
        // A tag file that is taken as it is cannot get more tags.
        if options.tag_files.iter().any(|(path, _)| *path == rule.file) {
            continue;
        }
        let Some(value) = ask_for(rule)? else { return Ok(()) };
        let tag = (rule.label.clone(), value);
        if rule.file == BAG_INFO {
            options.bag_info.push(tag);
        } else {
            tags_of(&mut options.info_files, &rule.file).push(tag);
        }
    }
    Ok(())
}

/// Asks until there is an answer that the rule allows; nothing where the input ends.
fn ask_for(rule: &TagRule) -> Result<Option<String>, Failure> {
    if let Some(description) = &rule.description {
        eprintln!("  {}", printable(description));
    }
    let allowed = if rule.values.is_empty() { String::new() } else { format!(" ({})", rule.values.join(", ")) };
    loop {
        eprint!("{}", printable(&format!("{}/{}{allowed}: ", rule.file, rule.label)));
        let mut line = String::new();
        let length = io::stdin().lock().read_line(&mut line);
        let length = length.map_err(|error| Failure::io("read the answer from", Path::new("the terminal"), &error))?;
        if length == 0 {
            eprintln!();
            return Ok(None);
        }
        let value = line.trim();
        if value.is_empty() && rule.empty != Some(true) {
            continue;
        }
        if rule.values.is_empty() || value.is_empty() {
            return Ok(Some(value.to_owned()));
        }
        match rule.values.iter().find(|legal| legal.to_lowercase() == value.to_lowercase()) {
            Some(legal) => return Ok(Some(legal.clone())),
            None => eprintln!("  not one of the values allowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_label_a_value_and_perhaps_a_file() {
        let tag = |text: &str| text.parse::<GivenTag>().map(|tag| (tag.file, tag.label, tag.value));
        let own = |file: &str, label: &str, value: &str| Ok((file.to_owned(), label.to_owned(), value.to_owned()));
        assert_eq!(tag("Contact-Name: A = B"), own(BAG_INFO, "Contact-Name", "A = B"));
        assert_eq!(tag("Link=https://example.edu"), own(BAG_INFO, "Link", "https://example.edu"));
        assert_eq!(tag("aptrust-info.txt/Title: A: B"), own("aptrust-info.txt", "Title", "A: B"));
        assert_eq!(tag("Height/Width: 3/4"), own(BAG_INFO, "Height/Width", "3/4"));
        assert_eq!(tag("Empty:"), own(BAG_INFO, "Empty", ""));
        for bad in ["", "no separator", ": value", "= value", "a.txt/: value"] {
            assert!(tag(bad).is_err(), "{bad}");
        }
    }
}
