//! The one table of settings: names, types, defaults, units, meanings. It may not know where values come from.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use strongroom_ark::Password;
use strongroom_database::{DatabaseError, Location, PostgresSettings};

use super::kind::Kind;
use super::plain_stores::{self, PlainStoreSettings};
use super::secret::Secret;
use super::stores::{self, StoreFacts, StoreSettings};
use crate::duplication;
use crate::runtime::{PoolSettings, Pools};
use crate::task_kinds::TASK_KINDS;
use crate::workflow::{Workflows, local_topic};

/// How many times the workers of `default` the topics of duplication have: a copy of a small content item waits for the disk most of the time, and
/// what several copies have written is synced together.
const TIMES_DUPLICATION: usize = 8;

/// The value where none is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unset {
    /// This, as it would be written in the file.
    Is(&'static str),
    /// Nothing: it may be left out.
    Absent,
    /// It must be given.
    Required,
}

use Unset::{Absent, Is, Required};

/// One setting of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) unset: Unset,
    pub(super) kind: Kind,
    pub(super) meaning: &'static str,
    /// For which kinds of things of the section it is; empty: for all.
    pub(super) only_for: &'static [&'static str],
}

impl Setting {
    /// Whether it is for things of this kind.
    pub(super) fn is_for(&self, kind: Option<&str>) -> bool {
        self.only_for.is_empty() || kind.is_some_and(|kind| self.only_for.contains(&kind))
    }

    /// The default, as written in the file.
    pub(super) fn default(&self) -> Option<&'static str> {
        match self.unset {
            Is(default) => Some(default),
            Absent | Required => None,
        }
    }
}

/// How the settings of a section are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `section.setting`.
    Plain,
    /// `section.<name>.setting`, for any number of names.
    Named,
    /// `section.<name>`: the names are the keys.
    Keys,
}

/// A table of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    pub(super) about: &'static str,
    pub(super) settings: &'static [Setting],
}

macro_rules! sections {
    ($($constant:ident $name:ident $key:literal $shape:ident $about:literal {
        $($field:ident: $type:ty = $default:expr, $kind:expr, $meaning:literal;)*
    })*) => {
        $(
            #[doc = $about]
            #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                $(#[doc = $meaning] pub $field: $type,)*
            }

            const $constant: Section = Section {
                key: $key,
                shape: Shape::$shape,
                about: $about,
                settings: &[$(Setting {
                    name: stringify!($field),
                    unset: $default,
                    kind: $kind,
                    meaning: $meaning,
                    only_for: &[],
                },)*],
            };
        )*
    };
}

sections! {
    REGISTRY RegistrySettings "registry" Plain "The registry: the SQL database with all records." {
        url: String = Is("\"sqlite:registry.db\""), Kind::Database,
            "the database: sqlite: and a path on a local disk, which begins at the data directory when it is relative; or postgres://USER@HOST:PORT/DATABASE, for many machines";
        password: Option<String> = Absent, Kind::Secret, "the password for the PostgreSQL server, where it is not in the URL";
        connections: usize = Is("10"), Kind::Count(2),
            "connections to a PostgreSQL server at the same time in each process; two more are opened for leases, and one for notifications";
    }
    ROLES Roles "roles" Plain "Which store has which role beside preservation." {
        receiving: String = Is("\"receiving\""), Kind::Text,
            "where depositors put bags, in a folder named as their institution";
        staging: String = Is("\"staging\""), Kind::Text, "the bytes of open work items";
        restoration: String = Is("\"restoration\""), Kind::Text, "results of restorations";
        quarantine: String = Is("\"quarantine\""), Kind::Text, "damaged bytes, kept as evidence";
    }
    STAGING Staging "staging" Plain "The space for open deposits." {
        capacity: u64 = Is("\"0\""), Kind::Size,
            "how much may be in staging at the same time; a deposit waits until it fits; 0: the size of its file system";
        first_after: Duration = Is("\"1h\""), Kind::Duration,
            "small deposits that fit pass one that does not; when it has waited for so long, none passes it any more until it has its space";
        free_for_unknown: u64 = Is("20"), Kind::Count(0),
            "how much of the capacity, in percent, must be free before a deposit begins whose size is not known, or only by what a server or a manifest says";
        failed_retention: Duration = Is("\"30d\""), Kind::Duration,
            "how long a deposit that failed and can be requeued keeps what it has in staging and of downloads";
    }
    RECEIVING Receiving "receiving" Plain "Scans of the stores in which depositors put bags." {
        scan_interval: Duration = Is("\"30s\""), Kind::Duration, "time between two scans of the stores";
        quiet_period: Duration = Is("\"30s\""), Kind::Duration,
            "an upload is complete when two scans at least this far apart found it unchanged";
        max_per_run: usize = Is("100000"), Kind::Count(1),
            "the largest number of keys that one scan lists; the next scan continues after them";
        invalid_retention: Duration = Is("\"14d\""), Kind::Duration,
            "how long an upload that is not valid stays before it is removed";
        warn_before: Duration = Is("\"3d\""), Kind::Duration, "how long before its removal the institution is warned";
    }
    INSTITUTIONS InstitutionSettings "institutions" Named "Settings of single institutions, by domain name." {
        receiving: String = Is("\"\""), Kind::Text,
            "a receiving store for this institution alone, beside its folder in roles.receiving; empty: none";
        restoration: String = Is("\"\""), Kind::Text,
            "a restoration store for this institution alone, instead of roles.restoration; empty: none";
        collection: String = Is("\"\""), Kind::Text,
            "the short name of the collection for uploads that are in no folder of a collection; empty: none";
    }
    ACTIVITIES ActivitySettings "activities" Plain "Activities: agents that work through records." {
        workers: usize = Is("2"), Kind::Count(1),
            "tasks that work on the records of one activity at the same time; how many run in a process, [workers.\"activity.run\"] says";
    }
    DUPLICATION DuplicationSettings "duplication" Plain "Duplication: sweeps, which compare what the policies copy." {
        every: Duration = Is("\"7d\""), Kind::Duration,
            "time from the beginning of a sweep to that of the next one; 0s: none begins by itself, also not after a policy was changed";
        start: String = Is("\"\""), Kind::Text,
            "the time of day at which sweeps begin whose time has come, such as 02:00; empty: at once";
        time_zone: String = Is("\"UTC\""), Kind::Text,
            "the time zone of start, as the IANA names it, such as Europe/Vienna";
        most_queued: u64 = Is("10000"), Kind::Count(1),
            "tasks of duplicate.low that wait or are worked on; sweeps queue no more until there are fewer";
        verify_one_in: u64 = Is("1000"), Kind::Count(0),
            "of so many content items that are known to be equal a sweep has one read whole in both stores; 0: none";
        include: Vec<String> = Is("[]"), Kind::List,
            "patterns /INSTITUTION/STORE/SPACE of sources that sweeps are about; none: all";
        exclude: Vec<String> = Is("[]"), Kind::List,
            "patterns /INSTITUTION/STORE/SPACE of sources that sweeps leave out";
    }
    WORKERS Workers "workers" Named
        "The workers of each topic. The topic \"default\" is for what the others do not set." {
        workers: usize = Is("2"), Kind::Count(1), "tasks at once";
        prefetch: usize = Is("0"), Kind::Count(0), "tasks that are leased in advance";
        max_total: usize = Is("0"), Kind::Count(0),
            "tasks that all processes together have leased at the same time; 0: no limit";
        max_attempts: u32 = Is("3"), Kind::Count(1), "attempts before the work item fails, or the task is dead";
        lease: Duration = Is("\"60s\""), Kind::Duration,
            "how long a task stays leased when its worker does not renew the lease; then another worker gets it";
        shutdown_timeout: Duration = Is("\"30s\""), Kind::Duration,
            "how long a running task may continue after the program was asked to stop";
        aged_after: Duration = Is("\"0s\""), Kind::Duration,
            "for a topic that goes after others: how long one of its tasks is ready before it is leased although they have tasks; 0s: it is not leased before";
    }
    TOOLS ToolSettings "tools" Named
        "Programs of other people that activities run for files. clamdscan, clamscan, jhove, mediainfo and verapdf are known without being named here." {
        ready: String = Is("\"\""), Kind::Text,
            "the known tool whose configuration this one begins with; empty: the one of the same name";
        configuration: Option<String> = Absent, Kind::Path,
            "a TOML file with the whole configuration, for a tool that is not known";
        program: String = Is("\"\""), Kind::Text,
            "the program: an absolute path, or a name; empty: that of the configuration";
        arguments: Vec<String> = Is("[]"), Kind::List,
            "arguments before those of the configuration, also where the program is asked for its version";
        environment: Vec<String> = Is("[]"), Kind::List,
            "variables of its environment, each as NAME=VALUE, besides those of the configuration";
        event: String = Is("\"auto\""), Kind::Choice(&["auto", "virus check", "metadata extraction", "validation"]),
            "what the tool does, as events name it; auto: as is known of the tool it begins with, else validation";
        time_limit: Duration = Is("\"0s\""), Kind::Duration,
            "how long one run may take; 0s: as the configuration says";
        memory_limit: u64 = Is("\"0\""), Kind::Size, "how much memory one run may use; 0: as the configuration says";
        max_copied: u64 = Is("\"10 GiB\""), Kind::Size,
            "the largest file that is copied for the tool; a larger one is given to it where it lies in a store that is a folder";
    }
    INGEST Ingest "ingest" Plain "Ingest of deposits." {
        default_placement: String = Is("\"Standard\""), Kind::Text,
            "the placement of objects for which neither deposit nor collection names one";
        default_profile: String = Is("\"\""), Kind::Text,
            "the profile of bags for which neither bag nor collection names one; empty: aptrust-2.3 for bags with an aptrust-info.txt, none for others";
        unknown_profile: String = Is("\"refuse\""), Kind::Choice(&["refuse", "warn"]),
            "what happens to a bag that names a profile which is not known: it is invalid, or that is a warning and the bag is checked without it";
        url_hosts: Vec<String> = Is("[]"), Kind::List,
            "the hosts from which a deposit may be fetched by URL; \"*.example.edu\" names all below, \"files.example.edu:8443\" a port that is not that of the scheme; empty: none";
        allow_private_addresses: bool = Is("false"), Kind::Flag,
            "whether those hosts may have addresses of the local network or this machine";
        size_timeout: Duration = Is("\"5m\""), Kind::Duration,
            "how long servers are asked for the sizes of files that a manifest does not state; then the deposit is one of unknown size; 0s: they are not asked";
        private_url_hosts: Vec<String> = Is("[]"), Kind::List,
            "those of these hosts that may have such addresses where not all may";
        fetch_txt: bool = Is("false"), Kind::Flag,
            "whether the files that the fetch.txt of a bag names are downloaded from those hosts; without it such a bag is incomplete";
        tools: Vec<String> = Is("[]"), Kind::List,
            "tools that are run for each new file of a deposit before its version is written, such as clamdscan; where a virus check finds something the deposit fails";
    }
    IDENTIFIERS IdentifierSettings "identifiers" Plain "ARK identifiers of objects." {
        minter: MinterKind = Is("\"none\""), Kind::Choice(&["none", "noid", "ezid"]),
            "where objects get their ARKs: none; noid: names with a check character are made here, and registered nowhere; ezid: the same, and each is registered with EZID";
        naan: String = Is("\"\""), Kind::Text, "the NAAN of new ARKs, such as 12345; 99999 is for tests; needed by a minter";
        shoulder: String = Is("\"\""), Kind::Text,
            "what the names of new ARKs begin with, consonants and one digit, such as m5; needed by a minter, and for Strongroom alone: no other program may make names below it";
        shoulders: Vec<String> = Is("[]"), Kind::List,
            "other beginnings of the names of new ARKs, which collections may have instead of that";
        target: String = Is("\"\""), Kind::Text,
            "the URL to which ARKs lead, without the ARK: EZID is given this, a slash and the ARK; empty: the page of EZID about the ARK";
        ezid_url: String = Is("\"https://ezid.cdlib.org\""), Kind::Text,
            "the URL of EZID; plain http is allowed to this machine only";
        ezid_user: String = Is("\"\""), Kind::Text, "the user name of the account at EZID";
        ezid_password: Option<Password> = Absent, Kind::Secret, "its password";
        ezid_owner: String = Is("\"\""), Kind::Text,
            "the user who owns the ARKs at EZID, where the account makes them for another; empty: the account";
        status: ArkStatus = Is("\"public\""), Kind::Choice(&["public", "reserved"]),
            "the status that new ARKs get at EZID; reserved ones are not known to the public, and can be deleted there";
    }
    IDENTIFICATION Identification "identification" Plain "Identification of the formats of files." {
        window: u64 = Is("\"0\""), Kind::Size, "how much is read from each end of a file; 0: all of it";
        time_limit: Duration = Is("\"5m\""), Kind::Duration,
            "how long one file may take; then the answer is what is known by then, with a warning";
    }
    FIXITY Fixity "fixity" Plain "Fixity checks of the copies." {
        max_age: Duration = Is("\"90d\""), Kind::Duration, "each copy is checked again when its last check is this old";
        poll_interval: Duration = Is("\"30m\""), Kind::Duration, "time between two searches for copies that are due";
        max_per_run: usize = Is("2500"), Kind::Count(1), "the largest number of copies that one search enqueues";
    }
    BACKFILL Backfill "backfill" Plain
        "Copies that stores lack of the placements: how fast they are brought without a command. store backfill has no such limit." {
        objects_per_hour: u64 = Is("10000"), Kind::Count(0),
            "how many objects are enqueued in an hour at most, each once for each store that lacks it; 0: none";
        bytes_per_hour: u64 = Is("\"200 GiB\""), Kind::Size,
            "how many bytes of contents are enqueued in an hour at most; after a larger object nothing is enqueued until its bytes fit the rate; 0: no limit of bytes";
        max_queued: u64 = Is("1000"), Kind::Count(1),
            "how many tasks of one store may wait when more are enqueued";
    }
    RESTORATION Restoration "restoration" Plain "Restoration." {
        retention: Duration = Is("\"30d\""), Kind::Duration,
            "how long a result stays in the restoration store before it is removed; 0s: without end";
        spot_test_interval: Duration = Is("\"90d\""), Kind::Duration,
            "how often an object of each institution is restored as a test, for its admins to look at; 0s: never";
        spot_test_max_size: u64 = Is("\"1 GiB\""), Kind::Size, "the largest object that is restored as a test; 0: of any size";
        spot_test_reminder: Duration = Is("\"14d\""), Kind::Duration,
            "after how long the admins are reminded once of a test that none of them has confirmed; 0s: never";
        retrieval_days: u32 = Is("10"), Kind::Count(1),
            "for how many days an archived copy can be read after it was retrieved";
        retrieval_tier: String = Is("\"Standard\""), Kind::Choice(&["Standard", "Bulk", "Expedited"]),
            "how fast and for what price the service retrieves archived copies";
        retrieval_poll: Duration = Is("\"30m\""), Kind::Duration, "time between two checks whether a requested copy can be read";
    }
    DELETION Deletion "deletion" Plain "Deletion of objects and files, which one user requests and another one approves." {
        request_lifetime: Duration = Is("\"7d\""), Kind::Duration, "how long a request can be approved after it was made";
        console_approval: bool = Is("true"), Kind::Flag,
            "whether a request can be approved on the command line, where nothing proves who the user is";
    }
    AUDIT Audit "audit" Plain "Audit chains: what was done, in entries that name the digest of the one before." {
        publish_interval: Duration = Is("\"24h\""), Kind::Duration,
            "how often entries are published in the preservation stores, with the head of the chain";
        signing_key: Option<String> = Absent, Kind::Path,
            "a file with the Ed25519 private key (PEM, PKCS #8) that signs heads; without it they are not signed; \"none\" ends signing";
    }
    CATALOGUE CatalogueSettings "catalogue" Plain "Catalogues: tables of the objects in each preservation store, beside its storage roots." {
        interval: Duration = Is("\"24h\""), Kind::Duration, "how often they are compared with the registry, and written where they differ";
    }
    STATISTICS StatisticsSettings "statistics" Plain "Statistics, storage quotas and the cost of storage." {
        quota_warning: u64 = Is("90"), Kind::Count(1),
            "the part of its storage quota, in percent, from which on an institution is warned";
        weekly_report: String = Is("\"monday\""),
            Kind::Choice(&["never", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]),
            "the day, in UTC, on which the storage report of the seven days before is mailed to the admins of each institution";
        weekly_report_hour: u64 = Is("6"), Kind::Count(0), "the hour of that day, in UTC, from 0 to 23";
        currency: String = Is("\"EUR\""), Kind::Text, "the currency of the prices, as reports show it";
        prices: Vec<String> = Is("[]"), Kind::List,
            "what a terabyte (10^12 bytes) costs for a month: STORE=PRICE, or STORE/CLASS=PRICE for a storage class, such as primary=5.50";
    }
    RETENTION Retention "retention" Plain
        "How long records of work that has ended are kept. Events, objects, versions and copies are always kept." {
        item_history: Duration = Is("\"0s\""), Kind::Duration,
            "lines of the history of ended work items, but for the last one; 0s: without end";
        outbox: Duration = Is("\"0s\""), Kind::Duration,
            "messages of the outbox that were delivered, or that nothing delivers; 0s: without end";
        receipts: Duration = Is("\"0s\""), Kind::Duration,
            "receipts of uploads; equal bytes that are uploaded later are compared again with what is kept; 0s: without end";
        ended_items: Duration = Is("\"0s\""), Kind::Duration,
            "ended work items with their history, unless they need review, or a receipt or an upload names them; 0s: without end";
        record_lists: Duration = Is("\"0s\""), Kind::Duration,
            "the records of activities that ended, unless another activity takes them; counts, and what was made of each, stay; 0s: without end";
        documents: Duration = Is("\"0s\""), Kind::Duration,
            "documents that were last harvested so long ago, also where they were not deposited; 0s: without end";
        audit_entries: Duration = Is("\"0s\""), Kind::Duration,
            "entries of audit chains in the registry, once every preservation store has them; they stay there; 0s: without end";
    }
    MAIL MailSettings "mail" Plain "Mails to people. Without a host none are sent." {
        host: String = Is("\"\""), Kind::Text, "the name of the mail server; empty: no mails are sent";
        port: usize = Is("587"), Kind::Count(1), "its port: usually 587 for starttls, 465 for tls, 25 for none";
        tls: MailTls = Is("\"starttls\""), Kind::Choice(&["none", "starttls", "tls"]),
            "how the connection is encrypted: not at all; after a plain greeting, or no mail is sent; from the beginning";
        ca_file: Option<String> = Absent, Kind::Path,
            "a file with certificates of authorities (PEM) that are trusted besides those of the system";
        username: String = Is("\"\""), Kind::Text, "the user name at the mail server; empty: none is given";
        password: Option<Secret> = Absent, Kind::Secret, "its password; it is sent over encrypted connections and to this machine only";
        from: String = Is("\"\""), Kind::Text,
            "the sender, such as Strongroom <strongroom@example.edu>; needed by a host";
        admins: Vec<String> = Is("[]"), Kind::List, "the addresses of those who run this installation";
        timeout: Duration = Is("\"2m\""), Kind::Duration, "how long the delivery of one mail may take";
        give_up_after: Duration = Is("\"4d\""), Kind::Duration,
            "how old a mail is when it is not attempted any more, after at least five attempts, and needs review";
        max_attachment: u64 = Is("\"5 MiB\""), Kind::Size,
            "the largest attachment; a mail with a larger one is sent without it, and says so";
    }
    CALLBACKS CallbackSettings "callbacks" Plain "Callbacks: events that are posted to URLs, as JSON." {
        hosts: Vec<String> = Is("[]"), Kind::List,
            "the hosts to which callbacks may be posted; \"*.example.edu\" names all below, \"example.edu:8443\" another port; empty: none";
        schemes: Vec<String> = Is("[\"https\"]"), Kind::List, "the schemes that their URLs may have: https, http";
        allow_private_addresses: bool = Is("false"), Kind::Flag,
            "whether those hosts may have addresses of the local network or this machine";
        ca_file: Option<String> = Absent, Kind::Path,
            "a file with certificates of authorities (PEM) that are trusted besides those of the system";
        secret: Option<Secret> = Absent, Kind::Secret,
            "the key of signatures, for collections that have none of their own; at least 32 characters";
        timeout: Duration = Is("\"30s\""), Kind::Duration, "how long one request may take, with its answer";
        max_answer: u64 = Is("\"64 KiB\""), Kind::Size, "how much of an answer is read";
        give_up_after: Duration = Is("\"2d\""), Kind::Duration,
            "how old a callback is when it is not attempted any more, after at least five attempts, and needs review";
    }
    COLLECTIONS CollectionSettings "collections" Named
        "Settings of single collections, by the domain name of the institution, a slash and the collection's short name." {
        callback_secret: Option<Secret> = Absent, Kind::Secret,
            "the key of the signatures of callbacks of this collection, instead of callbacks.secret; at least 32 characters";
    }
    LOG Log "log" Plain "What the program logs on standard error." {
        level: String = Is("\"info\""), Kind::Choice(&["info", "error", "warn", "debug", "trace"]),
            "the least severity; -v and -q on the command line change it";
        format: LogFormat = Is("\"text\""), Kind::Choice(&["text", "json"]), "lines for people, or one JSON object a line";
    }
}

const PLACEMENTS: Section = Section {
    key: "placements",
    shape: Shape::Keys,
    about: "The stores in which the copies of an object belong, by the storage option that a deposit may name.",
    settings: &[Setting {
        name: "<name>",
        unset: Required,
        kind: Kind::List,
        meaning: "the stores that each keep a copy",
        only_for: &[],
    }],
};

/// See `worker_kinds.rs`.
pub(super) const WORKER_KINDS: Section = Section {
    key: "worker_kinds",
    shape: Shape::Keys,
    about: "Sets of topics by name, for \"strongroom work --kind\". Each group of topics, such as ingest, is a kind that needs no line here.",
    settings: &[Setting {
        name: "<name>",
        unset: Required,
        kind: Kind::List,
        meaning: "the topics; * stands for any characters, so that \"ingest.*\" is all of a group",
        only_for: &[],
    }],
};

/// Every section, in the order of the file.
pub(super) const SECTIONS: &[Section] = &[
    REGISTRY,
    stores::SECTION,
    plain_stores::SECTION,
    ROLES,
    PLACEMENTS,
    STAGING,
    RECEIVING,
    INSTITUTIONS,
    WORKERS,
    WORKER_KINDS,
    ACTIVITIES,
    DUPLICATION,
    TOOLS,
    INGEST,
    IDENTIFIERS,
    IDENTIFICATION,
    FIXITY,
    BACKFILL,
    RESTORATION,
    DELETION,
    AUDIT,
    CATALOGUE,
    STATISTICS,
    RETENTION,
    MAIL,
    CALLBACKS,
    COLLECTIONS,
    LOG,
];

/// Where objects get their ARKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MinterKind {
    /// From nowhere: an object has the ARK that a deposit names, or none.
    None,
    /// From the minter of Strongroom.
    Noid,
    /// The same, and each is registered with EZID.
    Ezid,
}

/// The status of new ARKs at EZID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArkStatus {
    /// Known to everybody.
    Public,
    /// Known to the account alone.
    Reserved,
}

/// How the connection to the mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailTls {
    /// Not at all.
    None,
    /// After a plain greeting (RFC 3207).
    Starttls,
    /// From the beginning (RFC 8314).
    Tls,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// Everything that can be set, with defaults filled in and names checked. Relative paths start at the home.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// See [`RegistrySettings`].
    pub registry: RegistrySettings,
    /// See [`StoreSettings`].
    pub stores: BTreeMap<String, StoreSettings>,
    /// What is said of stores for reports, by their names; see [`StoreFacts`].
    #[serde(default)]
    pub store_facts: BTreeMap<String, StoreFacts>,
    /// See [`PlainStoreSettings`]; by name.
    pub plain_stores: BTreeMap<String, PlainStoreSettings>,
    /// See [`Roles`].
    pub roles: Roles,
    /// The stores of each placement, by its name.
    pub placements: BTreeMap<String, Vec<String>>,
    /// See [`Staging`].
    pub staging: Staging,
    /// See [`Receiving`].
    pub receiving: Receiving,
    /// See [`InstitutionSettings`]; by domain name.
    pub institutions: BTreeMap<String, InstitutionSettings>,
    /// What is said of each topic; [`Settings::pools`] answers for all.
    pub workers: BTreeMap<String, Workers>,
    /// The patterns of topics of each worker kind; [`Settings::topics_of_kind`] answers.
    pub worker_kinds: BTreeMap<String, Vec<String>>,
    /// How activities are worked on.
    pub activities: ActivitySettings,
    /// See [`DuplicationSettings`].
    pub duplication: DuplicationSettings,
    /// See [`ToolSettings`]; by name.
    pub tools: BTreeMap<String, ToolSettings>,
    /// See [`Ingest`].
    pub ingest: Ingest,
    /// See [`IdentifierSettings`].
    pub identifiers: IdentifierSettings,
    /// See [`Identification`].
    pub identification: Identification,
    /// See [`Fixity`].
    pub fixity: Fixity,
    /// See [`Backfill`].
    pub backfill: Backfill,
    /// See [`Restoration`].
    pub restoration: Restoration,
    /// See [`Deletion`].
    pub deletion: Deletion,
    /// See [`Audit`].
    pub audit: Audit,
    /// See [`CatalogueSettings`].
    pub catalogue: CatalogueSettings,
    /// See [`StatisticsSettings`].
    pub statistics: StatisticsSettings,
    /// See [`Retention`].
    pub retention: Retention,
    /// See [`MailSettings`].
    pub mail: MailSettings,
    /// See [`CallbackSettings`].
    pub callbacks: CallbackSettings,
    /// See [`CollectionSettings`]; by institution and collection.
    pub collections: BTreeMap<String, CollectionSettings>,
    /// See [`Log`].
    pub log: Log,
}

/// The name under which [`Settings::workers`] says what holds for topics not named.
pub(super) use crate::runtime::DEFAULT_TOPIC;

/// Every topic that tasks go through where these workflows are registered.
pub fn topics(workflows: &Workflows) -> Vec<String> {
    let mut topics = workflows.topics();
    topics.extend(TASK_KINDS.iter().map(|kind| kind.topic.to_owned()));
    topics
}

/// Every topic that workers may be set for, and what stands for all others: those of workflows that are registered with an open
/// home as well, which the settings are read before.
pub(super) fn pool_names() -> Vec<String> {
    let mut names = topics(&Workflows::standard());
    names.push(DEFAULT_TOPIC.to_owned());
    names
}

impl Settings {
    /// Gives the folders that hold what is kept, or is on its way there, to their owner only, where nothing is said of them.
    pub(super) fn resolve_modes(&mut self) {
        let mut private: Vec<String> = self.placements.values().flatten().cloned().collect();
        private.extend([self.roles.staging.clone(), self.roles.quarantine.clone()]);
        for (name, store) in &mut self.stores {
            if private.contains(name) {
                store.make_private();
            }
        }
    }

    /// How each topic is worked on: as said of it, else as said of `default`.
    pub fn pools(&self) -> Pools {
        Pools(pool_names().into_iter().map(|topic| (topic.clone(), self.pool(&topic))).collect())
    }

    /// How one topic is worked on. That of items that read from servers is as said of it, else as said of their stage, else as said of
    /// `default` with twice the workers: they wait for a network, and no institution has more than half of them. That of duplication has
    /// eight times as many.
    pub fn pool(&self, topic: &str) -> PoolSettings {
        let local = local_topic(topic);
        let said = self.workers.get(topic).or_else(|| self.workers.get(local?));
        let is_default = said.is_none();
        let said = said.or_else(|| self.workers.get(DEFAULT_TOPIC));
        let pool = said.map_or_else(PoolSettings::default, |said| PoolSettings {
            workers: said.workers,
            prefetch: said.prefetch,
            max_total: said.max_total,
            max_attempts: said.max_attempts,
            lease: said.lease,
            shutdown_timeout: said.shutdown_timeout,
            aged_after: said.aged_after,
        });
        let times = match local {
            _ if !is_default => 1,
            Some(_) => 2,
            None if [duplication::HIGH, duplication::LOW].contains(&topic) => TIMES_DUPLICATION,
            None => 1,
        };
        PoolSettings { workers: pool.workers.saturating_mul(times), ..pool }
    }

    /// Where the registry is.
    pub fn registry_location(&self, home: &Path) -> Result<Location, DatabaseError> {
        self.registry.location(&self.registry.url, home)
    }

    /// The stores that a placement names, in order.
    pub fn placement(&self, name: &str) -> Option<&[String]> {
        self.placements.get(name).map(Vec::as_slice)
    }

    /// The store of an institution's own for what is restored for it, where the settings name one.
    pub fn own_restoration_store(&self, institution: &str) -> Option<&str> {
        let own = self.institutions.get(institution).map(|own| own.restoration.as_str());
        own.filter(|store| !store.is_empty())
    }

    /// Whether results of restorations are put into a store: the common one, or one of an institution's own.
    pub fn is_restoration_store(&self, store: &str) -> bool {
        self.roles.restoration == store || self.institutions.values().any(|own| own.restoration == store)
    }

    /// Whether a store is there for something else than preservation.
    pub fn has_other_role(&self, store: &str) -> bool {
        let roles = &self.roles;
        [&roles.receiving, &roles.staging, &roles.quarantine].into_iter().any(|role| role == store)
            || self.is_restoration_store(store)
            || self.institutions.values().any(|own| own.receiving == store)
    }

    /// Every store that some placement names: the preservation stores.
    pub fn preservation_stores(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.placements.values().flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Roles {
    /// The store of each role, by the name of the role.
    pub fn named(&self) -> [(&'static str, &str); 4] {
        [
            ("receiving", &self.receiving),
            ("staging", &self.staging),
            ("restoration", &self.restoration),
            ("quarantine", &self.quarantine),
        ]
    }
}

impl RegistrySettings {
    /// Where a database of this URL is, used as these settings say.
    pub fn location(&self, url: &str, home: &Path) -> Result<Location, DatabaseError> {
        Ok(match Location::parse(url, home)? {
            Location::Postgres { url, settings } => Location::Postgres {
                url,
                settings: PostgresSettings {
                    connections: self.connections,
                    password: self.password.clone(),
                    ..settings
                },
            },
            file @ Location::Sqlite(_) => file,
        })
    }
}

#[cfg(test)]
mod tests {
    use strongroom_tool::ready::CONFIGURATIONS;

    use super::SECTIONS;

    #[test]
    fn every_known_tool_is_named_where_the_settings_of_tools_are_described() {
        let names: Vec<&str> = CONFIGURATIONS.iter().map(|(name, _)| *name).collect();
        let (last, others) = names.split_last().expect("there are known tools");
        let wanted = format!("{} and {last} are known", others.join(", "));
        let section = SECTIONS.iter().find(|section| section.key == "tools").expect("the section");
        assert!(section.about.contains(&wanted), "{wanted}: {}", section.about);
    }
}
