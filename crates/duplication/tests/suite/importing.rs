//! DuraCloud's policy files: what they mean is kept, each change is reported, and a file that is broken stops no other account.

use std::collections::BTreeMap;

use strongroom_duplication::{ImportOptions, Imported, ImportedAccount, Lookup, Rules, SourceFile, import};

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile { name: name.to_owned(), content: Ok(text.as_bytes().to_vec()) }
}

fn options(stores: &[(&str, &str)]) -> ImportOptions {
    let stores = stores.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
    ImportOptions { stores, delete: false }
}

fn usual() -> ImportOptions {
    options(&[("0", "disk"), ("1", "cloud"), ("2", "tape")])
}

/// One listed account with this policy.
fn of(text: &str) -> ImportedAccount {
    let files = [file("duplication-accounts.json", r#"["acme"]"#), file("acme-duplication-policy.json", text)];
    let Imported { mut accounts, problems, .. } = import(&files, &usual());
    assert!(problems.is_empty() && accounts.len() == 1);
    accounts.remove(0)
}

fn says(lines: &[String], expected: &str) -> bool {
    lines.iter().any(|line| line.contains(expected))
}

#[test]
fn defaults_own_rules_and_ignored_spaces_mean_the_same() {
    let account = of(r#"{
        "spaceDuplicationStorePolicies": {
            "maps": [{"srcStoreId": "0", "destStoreId": "1"}, {"srcStoreId": "0", "destStoreId": "2"}],
            "letters": [{"srcStoreId": 1, "destStoreId": 0}]
        },
        "defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}],
        "spacesToIgnore": ["scratch"]
    }"#);
    assert_eq!(account.problems, [""; 0]);
    let lookup = Lookup::new(account.policy.expect("imported"));
    let rules =
        |space: &str| -> Vec<String> { lookup.rules_for(space).rules().iter().map(ToString::to_string).collect() };
    assert_eq!(rules("maps"), ["disk -> cloud", "disk -> tape"]);
    assert_eq!(rules("letters"), ["cloud -> disk"]);
    assert_eq!(rules("unlisted"), ["disk -> cloud"]);
    assert_eq!(rules("scratch"), [""; 0]);
    assert_eq!(rules("x-service-out"), [""; 0]);
    assert_eq!(
        account.changes,
        [
            "ignore has x-*: DuraCloud never copies spaces whose names begin with x-, without saying so",
            "rules do not delete: DuraCloud deletes in the destination what was deleted in the source; --delete imports the \
             rules with delete = true, which a second person has to approve",
        ]
    );
}

#[test]
fn an_empty_policy_copies_nothing() {
    let account = of("{}");
    let policy = account.policy.expect("imported");
    assert_eq!((policy.default, policy.spaces.len()), (Some(Rules::None), 0));
    assert_eq!(account.changes.len(), 1);
}

#[test]
fn each_change_of_meaning_is_reported() {
    let account = of(r#"{
        "spaceDuplicationStorePolicies": {
            "empty": [],
            "x-own": [{"srcStoreId": "0", "destStoreId": "1"}],
            "scratch": [{"srcStoreId": "0", "destStoreId": "1"}],
            "maps-*": [{"srcStoreId": "0", "destStoreId": "1"}, {"srcStoreId": "0", "destStoreId": "1"}],
            "self": [{"srcStoreId": "0", "destStoreId": "0"}]
        },
        "defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}],
        "spacesToIgnore": ["scratch", "scratch", "x-tmp", "tmp*"]
    }"#);
    for expected in [
        "space empty: has an empty list, which DuraCloud reads as the default rules",
        "space x-own: is ignored",
        "space scratch: is ignored",
        "space maps-*: DuraCloud knows no patterns, so * and \\ stand for themselves; it is written maps-\\*",
        "space maps-*: the rule 0 -> 1 is there twice",
        "space self: the rule 0 -> 0 copies nothing",
        "ignored space scratch: is there twice",
        "ignored space x-tmp: is left out",
        "space tmp*: DuraCloud knows no patterns",
    ] {
        assert!(says(&account.changes, expected), "{expected}: {:#?}", account.changes);
    }
    let lookup = Lookup::new(account.policy.expect("imported"));
    let count = |space: &str| lookup.rules_for(space).rules().len();
    assert_eq!((count("empty"), count("maps-*"), count("maps-1"), count("self")), (1, 1, 1, 0));
    assert_eq!(lookup.rules_for("maps-1").to_string(), "by default");
    assert_eq!((lookup.rules_for("tmp*").to_string(), count("tmp1")), ("ignored by tmp\\*".to_owned(), 1));
}

#[test]
fn stores_that_nothing_maps_keep_an_account_from_being_imported() {
    let text =
        r#"{"defaultPolicies": [{"srcStoreId": "0", "destStoreId": "7"}, {"srcStoreId": "7", "destStoreId": "8"}]}"#;
    let account = of(text);
    assert_eq!(account.policy, None);
    assert_eq!(
        account.problems,
        [
            "default: nothing says which store has the identifier 7; give --store 7=NAME",
            "default: nothing says which store has the identifier 8; give --store 8=NAME",
        ]
    );
    let files = [file("duplication-accounts.json", r#"["acme"]"#), file("acme-duplication-policy.json", text)];
    let imported = import(&files, &options(&[("0", "disk"), ("7", "tape"), ("acme/7", "cloud"), ("8", "disk")]));
    let rules = imported.accounts[0].policy.as_ref().and_then(|policy| policy.default.clone()).expect("imported");
    let rules: Vec<String> = rules.as_slice().iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["disk -> cloud", "cloud -> disk"]);
}

#[test]
fn identifiers_of_the_same_store_are_no_rule() {
    let files = [
        file("duplication-accounts.json", r#"["acme"]"#),
        file(
            "acme-duplication-policy.json",
            r#"{"defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}, {"srcStoreId": "0", "destStoreId": "2"}]}"#,
        ),
    ];
    let imported = import(&files, &options(&[("0", "disk"), ("1", "disk"), ("2", "tape")]));
    assert_eq!(imported.accounts[0].problems, ["default: the stores of the rule 0 -> 1 are both mapped to disk"]);
    let imported = import(&files, &options(&[("0", "disk"), ("1", "tape"), ("2", "tape")]));
    assert!(says(&imported.accounts[0].changes, "the rule 0 -> 2 is disk -> tape as another one"));
}

#[test]
fn a_broken_file_stops_no_other_account() {
    let good = r#"{"defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}]}"#;
    let deep = format!("{{\"spacesToIgnore\": {}", "[".repeat(100_000));
    let files = [
        file(
            "duplication-accounts.json",
            r#"["good", "cut", "typo", "twice", "deep", "type", "list", "lists", "missing", "good", "a/../b"]"#,
        ),
        file("cut-duplication-policy.json", "{\n  \"defaultPolicies\": [\n"),
        file("typo-duplication-policy.json", "{\n  \"defaultPolicy\": []}"),
        file("twice-duplication-policy.json", r#"{"spaceDuplicationStorePolicies": {"a": [], "a": []}}"#),
        file("deep-duplication-policy.json", &deep),
        file("type-duplication-policy.json", r#"{"defaultPolicies": [{"srcStoreId": [], "destStoreId": "1"}]}"#),
        file("list-duplication-policy.json", "[]"),
        file("lists-duplication-policy.json", r#"{"defaultPolicies": [["0", "1"]]}"#),
        file("good-duplication-policy.json", good),
        file("unlisted-duplication-policy.json", good),
        file("README.txt", "not read"),
        SourceFile { name: "gone-duplication-policy.json".to_owned(), content: Err("no permission".to_owned()) },
    ];
    let Imported { accounts, problems, notes } = import(&files, &usual());
    assert_eq!(problems, [""; 0]);
    assert!(says(&notes, "README.txt") && says(&notes, "good is listed twice"));
    let accounts: BTreeMap<&str, &ImportedAccount> = accounts.iter().map(|one| (one.account.as_str(), one)).collect();
    let imported: Vec<&str> =
        accounts.values().filter(|one| one.policy.is_some()).map(|one| one.account.as_str()).collect();
    assert_eq!(imported, ["good"]);
    for (account, expected) in [
        ("cut", "EOF while parsing a list at line 3 column 0"),
        ("typo", "unknown field `defaultPolicy`"),
        ("typo", "line 2 column 17"),
        ("twice", "the key \"a\" is there twice at line 1 column"),
        ("deep", "at line 1 column"),
        ("type", "the identifier of a store is neither a text nor a number at line 1 column"),
        ("list", "expected an object at line 1 column"),
        ("lists", "expected an object at line 1 column"),
        ("missing", "is listed, and there is no missing-duplication-policy.json"),
        ("a/../b", "is listed, and there is no"),
        ("unlisted", "the account is not listed"),
    ] {
        assert!(says(&accounts[account].problems, expected), "{account}: {:?}", accounts[account].problems);
    }
}

#[test]
fn without_a_list_of_accounts_nothing_is_imported() {
    let policy = file("acme-duplication-policy.json", "{}");
    let imported = import(std::slice::from_ref(&policy), &usual());
    assert!(imported.accounts.is_empty() && says(&imported.problems, "there is no duplication-accounts.json"));
    let imported = import(&[file("duplication-accounts.json", "[1]"), policy.clone()], &usual());
    assert!(imported.accounts.is_empty() && says(&imported.problems, "line 1 column 2"), "{:?}", imported.problems);
    let large = SourceFile { name: "acme-duplication-policy.json".to_owned(), content: Ok(vec![b' '; (4 << 20) + 1]) };
    let imported = import(&[file("duplication-accounts.json", r#"["acme"]"#), large], &usual());
    assert!(says(&imported.accounts[0].problems, "longer than"));
}

#[test]
fn names_that_are_none_of_spaces_are_refused() {
    let account = of(
        r#"{"spacesToIgnore": ["a/b", ""], "spaceDuplicationStorePolicies": {"..": [{"srcStoreId":"0","destStoreId":"1"}]}}"#,
    );
    assert_eq!(account.problems.len(), 3, "{:?}", account.problems);
    assert!(says(&account.problems, "\"a/b\": is no name of a space"));
}

#[test]
fn rules_delete_where_that_is_asked_for() {
    let files = [
        file("duplication-accounts.json", r#"["acme"]"#),
        file("acme-duplication-policy.json", r#"{"defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}]}"#),
    ];
    let imported = import(&files, &ImportOptions { delete: true, ..usual() });
    assert!(imported.accounts[0].policy.as_ref().is_some_and(strongroom_duplication::Policy::deletes));
    assert!(says(&imported.accounts[0].changes, "once a second person has approved"));
}
