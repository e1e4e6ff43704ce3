//! Manifests: every file that is kept of a collection, an institution or a store.

use std::io::Write;
use std::path::Path;

use strongroom_digest::Algorithm;
use strongroom_registry::manifests::Versions;

use super::OpContext;
use super::authorization::{MANIFESTS_READ, MANIFESTS_SAVE};
use super::collections::scope_of_collection;
use crate::EngineError;
use crate::manifests::{self, Form};
use crate::places::check_outside_stores;

/// How a manifest is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ManifestForm {
    /// `space-id`, `content-id` and a digest, with tabs between them, as `DuraCloud` writes it.
    #[default]
    Tsv,
    /// The same with `content-size` and `mime-type`.
    ExtendedTsv,
    /// As a manifest of `BagIt`.
    BagIt,
    /// A row for each copy of a file, with everything, for spreadsheets.
    Csv,
    /// The same, each row as a JSON object.
    JsonLines,
}

/// What a manifest is of. One of the first three has to be given; several narrow it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The objects of this institution.
    pub institution: Option<String>,
    /// The objects of this collection, `<institution>/<name>`, or `<name>` where one institution only has it.
    pub collection: Option<String>,
    /// What this store holds, of every version.
    pub store: Option<String>,
    /// Every content that a path has had, not only that of the newest version.
    pub all_versions: bool,
    /// How it is written.
    pub form: ManifestForm,
    /// The digest in the forms that have one; none: MD5.
    pub digest: Option<Algorithm>,
}

/// Refuses a file for a manifest that the caller may not name: it is one of the server.
///
/// # Errors
/// The caller acts for one institution, or the file is in the folder of a store.
pub fn check_output(context: &OpContext, path: &Path) -> Result<(), EngineError> {
    let authorized = context
        .authorize(&MANIFESTS_SAVE)
        .map_err(|error| error.next("leave --output out: the manifest is written to standard output"))?;
    let home = authorized.home();
    check_outside_stores(&home.settings, &home.directory, path, "name a file that is in no store's folder")
}

/// Writes a manifest; how many rows it has. Only objects that the caller may see are in it.
///
/// # Errors
/// There is no such institution, collection or store, the store is no preservation store in use, or nothing was named.
pub fn write(context: &OpContext, wanted: &Wanted, out: &mut dyn Write) -> Result<u64, EngineError> {
    let authorized = context.authorize(&MANIFESTS_READ)?;
    let home = authorized.home();
    if wanted.institution.is_none() && wanted.collection.is_none() && wanted.store.is_none() {
        return Err(EngineError::Usage("a manifest is of a collection, an institution or a store".to_owned())
            .next("give --collection, --institution or --store"));
    }
    let (scope, collection) =
        scope_of_collection(&authorized, wanted.institution.as_deref(), wanted.collection.as_deref())?;
    if let Some(store) = &wanted.store {
        home.store(store)?;
        if !home.settings.preservation_stores().contains(&store.as_str()) || home.is_retired(store)? {
            return Err(EngineError::Usage(format!("{store} is no preservation store in use"))
                .next("\"strongroom store list\" shows those there are"));
        }
    }
    let versions = if wanted.all_versions || wanted.store.is_some() { Versions::All } else { Versions::Newest };
    let form = form_of(wanted)?;
    let wanted = manifests::Wanted { scope, collection, store: wanted.store.as_deref(), versions, form };
    manifests::write(home, &wanted, out)
}

fn form_of(wanted: &Wanted) -> Result<Form, EngineError> {
    let digest = wanted.digest.unwrap_or(Algorithm::Md5);
    if !matches!(digest, Algorithm::Md5 | Algorithm::Sha1 | Algorithm::Sha256 | Algorithm::Sha512) {
        return Err(
            EngineError::Usage(format!("files have no digest {digest}")).next("give md5, sha1, sha256 or sha512")
        );
    }
    Ok(match wanted.form {
        ManifestForm::Tsv => Form::Tsv(digest),
        ManifestForm::ExtendedTsv => Form::ExtendedTsv(digest),
        ManifestForm::BagIt => Form::BagIt(digest),
        ManifestForm::Csv | ManifestForm::JsonLines if wanted.digest.is_some() => {
            return Err(EngineError::Usage("this form has a column for each digest".to_owned())
                .next("leave --digest out, or choose --format tsv, extended-tsv or bagit"));
        }
        ManifestForm::Csv => Form::Csv,
        ManifestForm::JsonLines => Form::JsonLines,
    })
}
