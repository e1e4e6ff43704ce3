//! Which object a deposit is of: the identifiers that the depositor gives, the name that follows from the package, and both
//! together as the registry knows them.

use std::collections::BTreeMap;

use strongroom_ark::Ark;
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_registry::object_ids::{self, IdKind, Named, Naming};
use strongroom_registry::{InstitutionId, ItemId, RegistryError, Transaction};

use super::deposit::DepositRequest;
use super::intake::bag_name;
use super::kind::DepositKind;
use super::submission::Package;
use crate::EngineError;
use crate::arks::is_ark;

/// Most bytes of an identifier of a depositor.
const LONGEST_ID: usize = 1_024;
/// Most identifiers of one object that a deposit gives.
const MOST_IDS: usize = 100;
/// Most bytes of the name of an object that is made from an identifier.
const LONGEST_NAME: usize = 200;

/// The identifiers of an object that a depositor gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identifiers {
    /// The name of the object.
    pub(crate) name: Option<String>,
    /// Its ARK, in its normal form.
    pub(crate) ark: Option<String>,
    /// Its local identifiers, each once, in the order in which they are given.
    pub(crate) local_ids: Vec<String>,
}

impl Identifiers {
    /// # Errors
    /// One of them cannot be an identifier, or is empty, as where a variable of a script is not set.
    pub(crate) fn of(request: &DepositRequest) -> Result<Self, EngineError> {
        let is_empty = |text: &str| text.split(';').all(|id| id.trim().is_empty());
        let given = [
            ("primary", request.primary_id.as_deref().is_some_and(|id| id.trim().is_empty())),
            ("local", request.local_ids.iter().any(|ids| is_empty(ids))),
        ];
        if let Some((kind, _)) = given.iter().find(|(_, is_empty)| *is_empty) {
            return Err(EngineError::Usage(format!("the {kind} id is empty"))
                .next(format!("give the identifier, or leave --{kind}-id out")));
        }
        Self::parse(request.primary_id.as_deref(), &request.local_ids)
    }

    /// A primary identifier, which is an ARK or a name, and local identifiers, of which several may stand in one text, separated by
    /// semicolons.
    pub(crate) fn parse(primary: Option<&str>, local_ids: &[String]) -> Result<Self, EngineError> {
        let each = local_ids.iter().flat_map(|ids| ids.split(';')).map(str::trim).filter(|id| !id.is_empty());
        Self::with(primary, each)
    }

    /// The same, where each text is one identifier, whatever characters it has.
    pub(crate) fn parse_exact(primary: Option<&str>, local_ids: &[String]) -> Result<Self, EngineError> {
        Self::with(primary, local_ids.iter().map(String::as_str))
    }

    fn with<'i>(primary: Option<&str>, local_ids: impl Iterator<Item = &'i str>) -> Result<Self, EngineError> {
        let mut found = Self::default();
        match primary.map(str::trim).filter(|primary| !primary.is_empty()) {
            Some(primary) if is_ark(primary) => {
                let ark: Ark = primary.parse().map_err(|error| {
                    EngineError::Usage(format!("the primary id {primary:?} is no ARK: {error}"))
                        .next("give an ARK such as ark:/99999/fk4abc, or the name of the object")
                })?;
                found.ark = Some(ark.normal().to_owned());
            }
            primary => found.name = primary.map(str::to_owned),
        }
        for id in local_ids {
            check_local_id(id).map_err(|text| EngineError::Usage(text).next("give another one with --local-id"))?;
            if !found.local_ids.iter().any(|known| known == id) {
                found.local_ids.push(id.to_owned());
            }
        }
        if found.local_ids.len() > MOST_IDS {
            return Err(EngineError::Usage(format!("an object has at most {MOST_IDS} local ids"))
                .next("give fewer; the metadata can name others"));
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.name.is_none() && self.ark.is_none() && self.local_ids.is_empty()
    }

    /// The name that a new object gets. A bag names its object; any other package does where the depositor gives no identifier.
    pub(crate) fn object_name(&self, kind: DepositKind, of_package: &str) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if matches!(kind, DepositKind::Bag | DepositKind::Auto) || self.is_empty() {
            return of_package.to_owned();
        }
        self.local_ids.first().or(self.ark.as_ref()).map_or_else(|| of_package.to_owned(), |id| name_of_id(id))
    }

    /// The identifiers by which the registry knows an object.
    pub(crate) fn ids(&self) -> Vec<(IdKind, String)> {
        let local = self.local_ids.iter().map(|id| (IdKind::Local, id.clone()));
        local.chain(self.ark.iter().map(|ark| (IdKind::Ark, ark.clone()))).collect()
    }
}

/// Whether an identifier can be a local one.
pub(crate) fn check_local_id(id: &str) -> Result<(), String> {
    if id.len() <= LONGEST_ID && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let start: String = id.chars().take(100).collect();
    Err(format!("the local id {start:?} is longer than {LONGEST_ID} bytes or has control characters"))
}

/// An identifier as the name of an object: a slash, a percent sign and control characters as `%` and two hexadecimal digits, and
/// what is too long as its beginning with a digest. Different identifiers have different names.
pub(crate) fn name_of_id(id: &str) -> String {
    let mut name = String::new();
    for character in id.chars() {
        if matches!(character, '/' | '%') || character.is_control() {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                name.push('%');
                name.push_str(&hex(byte));
            }
        } else {
            name.push(character);
        }
    }
    if name == "." || name == ".." {
        return name.replace('.', "%2E");
    }
    if name.len() > LONGEST_NAME {
        let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
        hasher.update(id.as_bytes());
        let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
        let end = (0..=LONGEST_NAME - 34).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
        name.truncate(end);
        name.push_str("%~");
        name.push_str(digest.get(..32).unwrap_or(&digest));
    }
    name
}

fn hex(byte: u8) -> String {
    format!("{byte:02X}")
}

/// The name of an object by that of its package: the file name, for containers and manifests without their ending.
pub(crate) fn name_of_package(kind: DepositKind, file_name: &str) -> String {
    match kind {
        DepositKind::Bag | DepositKind::Auto | DepositKind::Container => bag_name(file_name),
        DepositKind::Manifest => {
            let is_ended = super::kind::is_manifest_name(file_name);
            let end = if is_ended { file_name.len() - ".checkm".len() } else { file_name.len() };
            file_name.get(..end).filter(|name| !name.is_empty()).unwrap_or(file_name).to_owned()
        }
        _ => file_name.to_owned(),
    }
}

/// Refuses packages of one request that would be versions of one object only because they are called alike. Bags are called as
/// their objects are.
pub(crate) fn check_distinct(packages: &[Package]) -> Result<(), EngineError> {
    let mut known: BTreeMap<&str, &Package> = BTreeMap::new();
    for package in packages.iter().filter(|package| package.kind != DepositKind::Bag) {
        if let Some(other) = known.insert(&package.object_name, package) {
            return Err(EngineError::Usage(format!(
                "{} and {} would both be the object {:?}",
                other.source, package.source, package.object_name
            ))
            .next("deposit each by itself with --primary-id or --local-id, or put them into one folder"));
        }
    }
    Ok(())
}

/// The name that a new object gets from its identifiers: the one that is made from them, or the first like it with a number, where
/// another object is only called so.
pub(crate) fn free_identifier(
    tx: &mut dyn Transaction,
    (institution, item): (InstitutionId, ItemId),
    ids: &[(IdKind, String)],
    identifier: &str,
) -> Result<String, RegistryError> {
    let mut free = identifier.to_owned();
    for number in 2_u64.. {
        let mut is_theirs = false;
        for (kind, value) in ids {
            is_theirs |= object_ids::find(tx, institution, *kind, value)?.as_ref() == Some(&free);
        }
        if is_theirs || !object_ids::is_name_taken(tx, institution, &free, item)? {
            break;
        }
        free = format!("{identifier}-{number}");
    }
    Ok(free)
}

/// The object that a deposit is of, as the registry knows its identifiers; see [`object_ids::name`].
///
/// # Errors
/// The identifiers are those of several objects, or of another institution's.
pub(crate) fn object_of(
    tx: &mut dyn Transaction,
    (institution, item): (InstitutionId, ItemId),
    ids: &[(IdKind, String)],
    (identifier, is_given): (&str, bool),
) -> Result<Result<String, String>, RegistryError> {
    if ids.is_empty() {
        return Ok(Ok(identifier.to_owned()));
    }
    let naming = Naming { institution, item, ids, identifier, is_given };
    Ok(match object_ids::name(tx, &naming)? {
        Named::Object(identifier) => Ok(identifier),
        Named::Foreign(ark) => Err(format!("{ark} is the ARK of an object of another institution")),
        Named::Contradiction(owners) => {
            let owners: Vec<String> = owners.into_iter().map(|(id, object)| format!("{id} is {object}")).collect();
            Err(format!("the identifiers of the deposit are those of different objects: {}", owners.join(", ")))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_identifiers_have_different_names() {
        assert_eq!(name_of_id("a-1"), "a-1");
        assert_eq!(name_of_id("ark:/99999/fk4"), "ark:%2F99999%2Ffk4");
        assert_eq!(name_of_id("a%2F"), "a%252F");
        assert_eq!(name_of_id(".."), "%2E%2E");
        let (long, other) = ("x".repeat(300), format!("{}y", "x".repeat(299)));
        assert_ne!(name_of_id(&long), name_of_id(&other));
        assert!(name_of_id(&"\u{e9}/".repeat(400)).len() <= LONGEST_NAME);
    }

    #[test]
    fn local_ids_stand_in_one_text_or_in_several_and_count_once() {
        let found =
            Identifiers::parse(Some("ark:99999/fk4abc"), &["a; a ;;b".to_owned(), "b".to_owned()]).expect("ids");
        assert_eq!(found.local_ids, ["a", "b"]);
        assert_eq!(found.ark.as_deref(), Some("ark:/99999/fk4abc"));
        assert_eq!(found.object_name(DepositKind::File, "x.tif"), "a");
        assert_eq!(found.object_name(DepositKind::Bag, "x"), "x");
        assert!(Identifiers::parse(Some("ark:/nonsense"), &[]).is_err());
        let ids = ["a;b".to_owned(), " c".to_owned(), "a;b".to_owned()];
        assert_eq!(Identifiers::parse_exact(None, &ids).expect("ids").local_ids, ["a;b", " c"]);
    }
}
