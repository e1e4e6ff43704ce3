//! Import of the policy files of DuraCloud: `duplication-accounts.json` with the accounts that are copied, and
//! `ACCOUNT-duplication-policy.json` for each. What our policy says in another way, or means otherwise, is reported line by line. A file that
//! cannot be read keeps no other account from being imported.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::object::Object;
use crate::policy::LONGEST_POLICY;
use crate::sources::{AccountPolicy, StorePolicy};
use crate::{Glob, Policy, Rule, Rules, SpaceRules};

/// The file that lists the accounts.
const ACCOUNTS: &str = "duplication-accounts.json";
/// What the name of the file of an account ends with.
const POLICY: &str = "-duplication-policy.json";
/// What names of system spaces begin with.
const SYSTEM: &str = "x-";

/// A file of DuraCloud's policy bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, without folders.
    pub name: String,
    /// What is in it; of a file that could not be read, why.
    pub content: Result<Vec<u8>, String>,
}

/// What the files do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The name of a store by its identifier, such as `0`, or by an account and its identifier, such as `acme/0`, which comes first.
    pub stores: BTreeMap<String, String>,
    /// Whether rules delete in the destination, as DuraCloud's do.
    pub delete: bool,
}

/// What came of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Each account that is listed or has a file, in order of their names.
    pub accounts: Vec<ImportedAccount>,
    /// What keeps every account from being imported.
    pub problems: Vec<String>,
    /// What else is to be known, such as files that are none of a policy.
    pub notes: Vec<String>,
}

/// What came of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedAccount {
    /// Its name.
    pub account: String,
    /// Its policy; none where it is not imported.
    pub policy: Option<Policy>,
    /// What is said in another way, or means something else than before.
    pub changes: Vec<String>,
    /// Why it is not imported.
    pub problems: Vec<String>,
}

/// Reads the files of a policy bucket.
pub fn import(files: &[SourceFile], options: &ImportOptions) -> Imported {
    let mut imported = Imported::default();
    let mut policies = BTreeMap::new();
    let mut accounts = None;
    for file in files {
        if file.name == ACCOUNTS {
            accounts = Some(file);
        } else if let Some(account) = file.name.strip_suffix(POLICY).filter(|account| !account.is_empty()) {
            policies.insert(account, file);
        } else {
            imported.notes.push(format!("{}: is no file of a policy, and was not read", shown(&file.name)));
        }
    }
    let listed = match accounts.map(|file| (file, read::<Vec<String>>(file))) {
        Some((_, Ok(listed))) => listed,
        Some((file, Err(problem))) => {
            imported.problems.push(format!("{}: {problem}", file.name));
            return imported;
        }
        None => {
            imported.problems.push(format!("there is no {ACCOUNTS}, which says which accounts are copied"));
            return imported;
        }
    };
    let mut names = BTreeSet::new();
    for account in &listed {
        if !names.insert(account.as_str()) {
            imported.notes.push(format!("{ACCOUNTS}: {} is listed twice", shown(account)));
        }
    }
    for account in &names {
        imported.accounts.push(match policies.get(account) {
            Some(file) => of_account(account, file, options),
            None => ImportedAccount {
                account: (*account).to_owned(),
                problems: vec![format!(
                    "is listed, and there is no {}{POLICY}: DuraCloud does not copy it; nothing is imported",
                    shown(account)
                )],
                ..ImportedAccount::default()
            },
        });
    }
    for (account, file) in policies.iter().filter(|(account, _)| !names.contains(*account)) {
        imported.accounts.push(ImportedAccount {
            account: (*account).to_owned(),
            problems: vec![format!(
                "{}: the account is not listed in {ACCOUNTS}: DuraCloud does not copy it; nothing is imported. To import it, add \
                 it to the list",
                shown(&file.name)
            )],
            ..ImportedAccount::default()
        });
    }
    imported.accounts.sort_by(|one, other| one.account.cmp(&other.account));
    imported
}

/// Reads the JSON of a file; where that is not possible, why, with line and column.
fn read<T: serde::de::DeserializeOwned>(file: &SourceFile) -> Result<T, String> {
    let bytes = file.content.as_ref().map_err(|reason| format!("cannot be read: {reason}"))?;
    if bytes.len() > LONGEST_POLICY {
        return Err(format!("is longer than {LONGEST_POLICY} bytes"));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("cannot be read as JSON of a policy: {error}"))
}

/// A text of a file, bounded.
fn shown(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn of_account(account: &str, file: &SourceFile, options: &ImportOptions) -> ImportedAccount {
    let mut reading = Reading { account, options, changes: Vec::new(), problems: Vec::new() };
    let policy = match read::<Object<AccountPolicy>>(file) {
        Ok(Object(source)) => reading.policy(&source),
        Err(problem) => {
            reading.problems.push(format!("{}: {problem}", shown(&file.name)));
            Policy::default()
        }
    };
    let policy = reading.problems.is_empty().then_some(policy);
    // What an import that does not happen would change is not of interest.
    let changes = if policy.is_some() { reading.changes } else { Vec::new() };
    ImportedAccount { account: account.to_owned(), policy, changes, problems: reading.problems }
}

struct Reading<'o> {
    account: &'o str,
    options: &'o ImportOptions,
    changes: Vec<String>,
    problems: Vec<String>,
}

impl Reading<'_> {
    fn policy(&mut self, source: &AccountPolicy) -> Policy {
        let mut policy = Policy { ignore: self.ignored(&source.spaces_to_ignore), ..Policy::default() };
        let default = self.rules("default", &source.default_policies);
        policy.default = Some(if default.is_empty() { Rules::None } else { Rules::Some(default) });
        let is_ignored =
            |space: &str| space.starts_with(SYSTEM) || source.spaces_to_ignore.iter().any(|one| one == space);
        for (space, policies) in &source.space_duplication_store_policies.0 {
            let name = shown(space);
            if policies.is_empty() {
                self.changes.push(format!(
                    "space {name}: has an empty list, which DuraCloud reads as the default rules; it is left out, so that it has these"
                ));
                continue;
            }
            if is_ignored(space) {
                self.changes
                    .push(format!("space {name}: is ignored, so its own rules never applied; they are left out"));
                continue;
            }
            let rules = self.rules(&format!("space {name}"), policies);
            let Some(glob) = self.literal(space) else { continue };
            let rules = if rules.is_empty() { Rules::None } else { Rules::Some(rules) };
            policy.spaces.push(SpaceRules { space: glob, rules });
        }
        if policy.rules().next().is_some() {
            self.changes.push(if self.options.delete {
                "rules delete in the destination what was deleted in the source, as in DuraCloud, once a second person has approved \
                 the policy"
                    .to_owned()
            } else {
                "rules do not delete: DuraCloud deletes in the destination what was deleted in the source; --delete imports the \
                 rules with delete = true, which a second person has to approve"
                    .to_owned()
            });
        }
        policy
    }

    fn ignored(&mut self, spaces: &[String]) -> Vec<Glob> {
        self.changes.push(format!(
            "ignore has {SYSTEM}*: DuraCloud never copies spaces whose names begin with {SYSTEM}, without saying so"
        ));
        let mut globs: Vec<Glob> = format!("{SYSTEM}*").parse().into_iter().collect();
        let mut known = HashSet::new();
        for space in spaces {
            if space.starts_with(SYSTEM) {
                self.changes.push(format!("ignored space {}: is left out, since {SYSTEM}* is ignored", shown(space)));
            } else if known.insert(space) {
                globs.extend(self.literal(space));
            } else {
                self.changes.push(format!("ignored space {}: is there twice, and is imported once", shown(space)));
            }
        }
        globs
    }

    /// The pattern of the name of a space, which is no pattern in DuraCloud.
    fn literal(&mut self, space: &str) -> Option<Glob> {
        match Glob::literal(space) {
            Ok(glob) if glob.is_name() => {
                if glob.as_str() != space {
                    self.changes.push(format!(
                        "space {}: DuraCloud knows no patterns, so * and \\ stand for themselves; it is written {}",
                        shown(space),
                        shown(glob.as_str())
                    ));
                }
                Some(glob)
            }
            Ok(_) => {
                self.problems.push(format!("space {:?}: is no name of a space, which has no slash", shown(space)));
                None
            }
            Err(error) => {
                self.problems.push(format!("space {:?}: is no name of a space: {error}", shown(space)));
                None
            }
        }
    }

    fn rules(&mut self, place: &str, policies: &[Object<StorePolicy>]) -> Vec<Rule> {
        let (mut rules, mut known): (Vec<Rule>, _) = (Vec::new(), HashSet::new());
        for Object(policy) in policies {
            let StorePolicy { src_store_id: from, dest_store_id: to } = policy;
            let pair = format!("{} -> {}", shown(&from.0), shown(&to.0));
            if !known.insert(policy) {
                self.changes.push(format!("{place}: the rule {pair} is there twice, and is imported once"));
                continue;
            }
            if from == to {
                self.changes.push(format!("{place}: the rule {pair} copies nothing, and is left out"));
                continue;
            }
            let (Some(source), Some(destination)) = (self.store(place, &from.0), self.store(place, &to.0)) else {
                continue;
            };
            let delete = self.options.delete;
            if source == destination {
                self.problems.push(format!("{place}: the stores of the rule {pair} are both mapped to {source}"));
            } else if rules.iter().any(|rule| rule.source == source && rule.destination == destination) {
                self.changes.push(format!(
                    "{place}: the rule {pair} is {source} -> {destination} as another one, and is imported once"
                ));
            } else {
                rules.push(Rule { source, destination, delete });
            }
        }
        rules
    }

    fn store(&mut self, place: &str, id: &str) -> Option<String> {
        let stores = &self.options.stores;
        let name = stores.get(&format!("{}/{id}", self.account)).or_else(|| stores.get(id)).cloned();
        if name.is_none() {
            let id = shown(id);
            let problem = format!("{place}: nothing says which store has the identifier {id}; give --store {id}=NAME");
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        name
    }
}
