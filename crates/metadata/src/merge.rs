//! Which description takes precedence where an object has several.

use crate::field::{Element, Field};
use crate::record::Record;

/// The descriptions that come with a deposit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sources<'s> {
    /// What the form or the row of the manifest says.
    pub given: Option<&'s Record>,
    /// The primary identifier of the form or the row.
    pub primary: Option<&'s str>,
    /// The local identifiers of the form or the row; several may stand in one text, separated by `;`.
    pub local_ids: &'s [String],
    /// Local identifiers besides, each of them one, whatever characters it has.
    pub exact_local_ids: &'s [String],
    /// `mrt-dc.xml`.
    pub dublin_core: Option<&'s Record>,
    /// `mrt-datacite.xml`.
    pub datacite: Option<&'s Record>,
    /// `mrt-erc.txt`.
    pub erc: Option<&'s Record>,
    /// Whether identifiers of `mrt-dc.xml` are *not* local identifiers.
    pub suppress_dublin_core_local_ids: bool,
}

/// One description of the object, and its identifiers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The description; its `where` is the primary identifier, then the local ones.
    pub record: Record,
    /// The primary identifier, an ARK as it was written.
    pub primary: Option<String>,
    /// The primary identifier of the form or the row, where `mrt-erc.txt` has another text. Whether the two are the same ARK, and what
    /// becomes of the deposit where they are not, the caller decides.
    pub replaced_primary: Option<String>,
    /// The local identifiers: those of the form or the row first, then those of `mrt-dc.xml`, then those of `mrt-erc.txt`; each once.
    pub local_ids: Vec<String>,
}

/// Makes one description of several.
///
/// - What the form or the row says comes first. `mrt-dc.xml` fills the fields that are blank, `mrt-datacite.xml` overwrites the fields that
///   it has, and then `mrt-erc.txt` does.
/// - A file of Dublin Core or DataCite also says who, what and when (see [`Record::implied_erc`]).
/// - The first `where` of `mrt-erc.txt` that begins with `ark:` becomes the primary identifier; its others become local identifiers. So
///   do those of the form or the row, where they name no primary identifier otherwise.
pub fn merge(sources: &Sources<'_>) -> Merged {
    let mut record = sources.given.cloned().unwrap_or_default();
    let mut identifiers = Identifiers { primary: sources.primary.map(str::to_owned), local: Vec::new() };
    sources.exact_local_ids.iter().for_each(|id| identifiers.add_exact(id));
    sources.local_ids.iter().for_each(|id| identifiers.add_local(id));
    let given_where = record.values(Field::Where).to_vec();
    identifiers.take(&given_where, false);
    let given_primary = identifiers.primary.clone();

    if let Some(dublin_core) = sources.dublin_core {
        record.fill_from(dublin_core);
        record.fill_from(&dublin_core.implied_erc());
        if !sources.suppress_dublin_core_local_ids {
            dublin_core.values(Field::Element(Element::Identifier)).iter().for_each(|id| identifiers.add_local(id));
        }
    }
    if let Some(datacite) = sources.datacite {
        record.overwrite_from(datacite);
        record.overwrite_from(&datacite.implied_erc());
    }
    if let Some(erc) = sources.erc {
        record.overwrite_from(&erc.erc());
        identifiers.take(erc.values(Field::Where), true);
    }

    let Identifiers { primary, mut local } = identifiers;
    local.retain(|id| Some(id) != primary.as_ref());
    record.replace(Field::Where, primary.iter().chain(&local).cloned().collect());
    let replaced_primary = given_primary.filter(|given| Some(given) != primary.as_ref());
    Merged { record, primary, replaced_primary, local_ids: local }
}

struct Identifiers {
    primary: Option<String>,
    local: Vec<String>,
}

impl Identifiers {
    /// Takes the values of `where`.
    fn take(&mut self, values: &[String], replaces_primary: bool) {
        let is_ark = |value: &String| value.get(..4).is_some_and(|label| label.eq_ignore_ascii_case("ark:"));
        let is_open = replaces_primary || self.primary.is_none();
        let ark = values.iter().position(is_ark).filter(|_| is_open);
        for (at, value) in values.iter().enumerate() {
            if Some(at) == ark {
                self.primary = Some(value.clone());
            } else {
                self.add_local(value);
            }
        }
    }

    /// Adds the local identifiers of a text, which are separated by `;`.
    fn add_local(&mut self, text: &str) {
        text.split(';').map(str::trim).filter(|id| !id.is_empty()).for_each(|id| self.add_exact(id));
    }

    fn add_exact(&mut self, id: &str) {
        if !self.local.iter().any(|known| known == id) {
            self.local.push(id.to_owned());
        }
    }
}
