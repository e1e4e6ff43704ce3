//! Duplication policies: which spaces of plain stores are copied where. Nothing here reads a registry, a store or a clock.
//!
//! A [`Policy`] belongs to one institution. People write it as TOML ([`Draft::read`], [`Policy::to_toml`]); the registry keeps it as JSON
//! ([`Policy::from_json`], [`Policy::to_json`]). [`Draft::check`] finds everything that is wrong with one at once. [`Lookup`] answers which
//! rules apply to a space, and [`changes`] says in words what differs between two versions. [`shared_cycles`] finds the cycles that policies of
//! several institutions form together.
//!
//! [`decide`] says what is done with one content item, from what was seen of it in both stores. [`Merge`] compares
//! the listings of two stores.
//!
//! All patterns of this crate have the grammar of [`Glob`]. A [`Filter`] includes and excludes spaces by `/institution/store/space`.
//! [`import`] reads the policy files of DuraCloud and reports each change of their meaning.
//!
//! ```
//! use std::collections::BTreeMap;
//! use strongroom_duplication::{Draft, Lookup, StoreUse};
//!
//! let (draft, problems) = Draft::read(br#"
//!     ignore = ["x-*"]
//!     default = [{ source = "disk", destination = "cloud" }]
//!     spaces = [{ space = "private", rules = "none" }]
//! "#);
//! assert!(problems.is_empty());
//! let stores = BTreeMap::from([("disk".to_owned(), StoreUse::Plain), ("cloud".to_owned(), StoreUse::Plain)]);
//! assert!(draft.check(&stores).is_empty());
//! let lookup = Lookup::new(draft.into_policy());
//! assert_eq!(lookup.rules_for("maps").rules().len(), 1);
//! assert!(lookup.rules_for("private").rules().is_empty());
//! assert!(lookup.rules_for("x-admin").rules().is_empty());
//! ```

mod changes;
mod check;
mod decision;
mod draft;
mod error;
mod filter;
mod glob;
mod import;
mod lookup;
mod merge;
mod object;
mod policy;
mod problem;
mod sources;
mod together;
mod written;

pub use changes::changes;
pub use check::StoreUse;
pub use decision::{Pair, Reason, Seen, Step, decide, decide_compared, description_of_copy};
pub use draft::Draft;
pub use error::DuplicationError;
pub use filter::{Filter, Place, Verdict};
pub use glob::{Glob, GlobError, LONGEST_GLOB};
pub use import::{ImportOptions, Imported, ImportedAccount, SourceFile, import};
pub use lookup::{Applied, Lookup};
pub use merge::{Line, Merge};
pub use policy::{
    LONGEST_POLICY, LONGEST_SPACE, MOST_ENTRIES, MOST_PATTERNS, MOST_RULES, Policy, Rule, Rules, SpaceRules,
};
pub use problem::{Problem, Severity};
pub use together::{SharedCycle, shared_cycles};
