-- Times are microseconds since the epoch, sizes bytes, identifiers 16 bytes, digests raw bytes.

CREATE TABLE registry_facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE institutions (
    id         BLOB PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'deactivated')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE collections (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    identifier     TEXT NOT NULL,
    name           TEXT NOT NULL,
    profile        TEXT,
    placement      TEXT,
    held           INTEGER NOT NULL DEFAULT 0,
    state          TEXT NOT NULL CHECK (state IN ('active', 'removed')),
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    UNIQUE (institution_id, identifier)
) STRICT, WITHOUT ROWID;

-- An object. `new` until its first version is published; then `active`; `deleted` when every file was taken out.
CREATE TABLE objects (
    id                          BLOB PRIMARY KEY,
    institution_id              BLOB NOT NULL REFERENCES institutions (id),
    collection_id               BLOB REFERENCES collections (id),
    identifier                  TEXT NOT NULL,
    generation                  BLOB NOT NULL,
    state                       TEXT NOT NULL CHECK (state IN ('new', 'active', 'deleted')),
    title                       TEXT,
    description                 TEXT,
    access                      TEXT,
    ark                         TEXT,
    placement                   TEXT,
    profile                     TEXT,
    source_organization         TEXT,
    bag_group_identifier        TEXT,
    internal_sender_identifier  TEXT,
    internal_sender_description TEXT,
    head                        INTEGER NOT NULL DEFAULT 0,
    files                       INTEGER NOT NULL DEFAULT 0,
    bytes                       INTEGER NOT NULL DEFAULT 0,
    created_at                  INTEGER NOT NULL,
    updated_at                  INTEGER NOT NULL,
    UNIQUE (institution_id, identifier)
) STRICT, WITHOUT ROWID;
CREATE INDEX objects_by_update ON objects (institution_id, updated_at);

CREATE TABLE local_ids (
    object_id BLOB NOT NULL REFERENCES objects (id),
    local_id  TEXT NOT NULL,
    PRIMARY KEY (object_id, local_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX local_ids_by_id ON local_ids (local_id);

-- A path of an object; one identifier for ever. `path` is the logical path: deposit/..., submission/vN/..., metadata/vN/...
-- Whether it is active, and with which content, follows from `entries` and the object's head.
CREATE TABLE files (
    id         BLOB PRIMARY KEY,
    object_id  BLOB NOT NULL REFERENCES objects (id),
    path       TEXT NOT NULL,
    modified   INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (object_id, path)
) STRICT, WITHOUT ROWID;

-- Distinct bytes within one storage generation of an object. `version` names the version whose folder holds them: readers
-- see contents up to the object's head.
CREATE TABLE contents (
    id             BLOB PRIMARY KEY,
    object_id      BLOB NOT NULL REFERENCES objects (id),
    generation     BLOB NOT NULL,
    sha512         BLOB NOT NULL,
    size           INTEGER NOT NULL,
    md5            BLOB NOT NULL,
    sha1           BLOB NOT NULL,
    sha256         BLOB NOT NULL,
    version        INTEGER NOT NULL,
    puid           TEXT,
    mime           TEXT,
    format_name    TEXT,
    format_version TEXT,
    format_method  TEXT,
    format_basis   TEXT,
    created_at     INTEGER NOT NULL,
    UNIQUE (object_id, generation, sha512)
) STRICT, WITHOUT ROWID;

CREATE TABLE versions (
    id               BLOB PRIMARY KEY,
    object_id        BLOB NOT NULL REFERENCES objects (id),
    generation       BLOB NOT NULL,
    number           INTEGER NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('preparing', 'committing', 'published', 'dropped')),
    item_id          BLOB,
    message          TEXT NOT NULL,
    user_name        TEXT NOT NULL,
    inventory_sha512 BLOB,
    -- What the object is from this version on, as JSON; taken over by the object when it is published.
    description      TEXT NOT NULL,
    files            INTEGER NOT NULL DEFAULT 0,
    bytes            INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    published_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX versions_by_number ON versions (object_id, generation, number) WHERE state <> 'dropped';
CREATE INDEX versions_by_item ON versions (item_id);

-- Which content a path has from a version on; NULL where the version takes the path away. Only changes have rows.
CREATE TABLE entries (
    object_id  BLOB NOT NULL REFERENCES objects (id),
    file_id    BLOB NOT NULL REFERENCES files (id),
    generation BLOB NOT NULL,
    version    INTEGER NOT NULL,
    content_id BLOB,
    PRIMARY KEY (object_id, generation, version, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_file ON entries (file_id, version);
CREATE INDEX entries_by_content ON entries (content_id) WHERE content_id IS NOT NULL;

-- One content in one store.
CREATE TABLE copies (
    content_id     BLOB NOT NULL REFERENCES contents (id),
    store          TEXT NOT NULL,
    institution_id BLOB NOT NULL,
    object_id      BLOB NOT NULL,
    key            TEXT NOT NULL,
    class          TEXT,
    state          TEXT NOT NULL CHECK (state IN ('kept', 'damaged', 'missing')),
    stored_at      INTEGER NOT NULL,
    verified_at    INTEGER,
    last_fixity_at INTEGER,
    -- When it was last looked at with any outcome; what fixity orders by.
    checked_at     INTEGER NOT NULL,
    -- When a copy that could not be read was last looked at by its size and class only.
    attested_at    INTEGER,
    PRIMARY KEY (content_id, store)
) STRICT, WITHOUT ROWID;
CREATE INDEX copies_by_check ON copies (store, checked_at, content_id);
CREATE INDEX copies_by_object ON copies (object_id, store, checked_at, content_id);
-- What `verify` has still to prove: empty when nothing is being taken in.
CREATE INDEX copies_unverified ON copies (object_id, store, content_id) WHERE verified_at IS NULL;

-- What of an object besides contents lies in a store: declaration, inventories and sidecars, watched as one.
CREATE TABLE object_copies (
    object_id      BLOB NOT NULL REFERENCES objects (id),
    store          TEXT NOT NULL,
    institution_id BLOB NOT NULL,
    generation     BLOB NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('kept', 'damaged', 'missing')),
    checked_at     INTEGER NOT NULL,
    last_fixity_at INTEGER,
    PRIMARY KEY (object_id, store)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_copies_by_check ON object_copies (store, checked_at, object_id);

-- Immutable. `expansion` names acts that always come together and are told apart on reading; see the events module.
CREATE TABLE events (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL,
    object_id      BLOB,
    file_id        BLOB,
    content_id     BLOB,
    item_id        BLOB,
    version        INTEGER,
    type           TEXT NOT NULL,
    expansion      TEXT,
    time           INTEGER NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'warning')),
    detail         TEXT,
    outcome_detail TEXT,
    agent          TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_object ON events (object_id, time, id);
CREATE INDEX events_by_file ON events (file_id, time) WHERE file_id IS NOT NULL;
CREATE INDEX events_by_institution ON events (institution_id, time);

CREATE TABLE batches (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    collection_id  BLOB REFERENCES collections (id),
    type           TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN
        ('pending', 'held', 'processing', 'reporting', 'completed', 'failed', 'update_reporting', 'deleted')),
    submitted_by   TEXT NOT NULL,
    note           TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX batches_by_time ON batches (institution_id, created_at);

CREATE TABLE work_items (
    id                BLOB PRIMARY KEY,
    batch_id          BLOB REFERENCES batches (id),
    institution_id    BLOB NOT NULL REFERENCES institutions (id),
    collection_id     BLOB REFERENCES collections (id),
    action            TEXT NOT NULL,
    object_id         BLOB,
    object_identifier TEXT NOT NULL,
    file_id           BLOB,
    name              TEXT NOT NULL,
    source            TEXT,
    etag              TEXT,
    size              INTEGER,
    options           TEXT NOT NULL DEFAULT '{}',
    stage             TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN
        ('pending', 'started', 'held', 'failed', 'cancelled', 'succeeded', 'deleted')),
    priority          INTEGER NOT NULL DEFAULT 50,
    note              TEXT,
    needs_review      INTEGER NOT NULL DEFAULT 0,
    retry_count       INTEGER NOT NULL DEFAULT 0,
    cancel_requested  TEXT,
    fence             INTEGER NOT NULL DEFAULT 0,
    holder            TEXT,
    lease_until       INTEGER,
    version           INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    stage_started_at  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX work_items_open ON work_items (institution_id, object_identifier, id)
    WHERE status IN ('pending', 'started', 'held');
CREATE INDEX work_items_by_status ON work_items (status, id);
CREATE INDEX work_items_by_batch ON work_items (batch_id);
CREATE INDEX work_items_by_object ON work_items (object_id) WHERE object_id IS NOT NULL;

CREATE TABLE item_history (
    item_id BLOB NOT NULL REFERENCES work_items (id),
    number  INTEGER NOT NULL,
    time    INTEGER NOT NULL,
    stage   TEXT NOT NULL,
    status  TEXT NOT NULL,
    note    TEXT,
    holder  TEXT,
    fence   INTEGER NOT NULL,
    PRIMARY KEY (item_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE item_problems (
    item_id  BLOB NOT NULL REFERENCES work_items (id),
    number   INTEGER NOT NULL,
    severity TEXT NOT NULL,
    code     TEXT NOT NULL,
    file     TEXT,
    path     TEXT,
    line     INTEGER,
    message  TEXT NOT NULL,
    PRIMARY KEY (item_id, number)
) STRICT, WITHOUT ROWID;

-- What an open work item knows of each file of its deposit. Gone when the item ends.
CREATE TABLE interim_files (
    item_id        BLOB NOT NULL REFERENCES work_items (id),
    path           TEXT NOT NULL,
    size           INTEGER NOT NULL,
    md5            BLOB NOT NULL,
    sha1           BLOB NOT NULL,
    sha256         BLOB NOT NULL,
    sha512         BLOB NOT NULL,
    modified       INTEGER,
    -- Where its bytes lie in staging; small files lie behind each other under one key.
    staging_key    TEXT NOT NULL,
    staging_offset INTEGER NOT NULL,
    mime           TEXT,
    puid           TEXT,
    format_name    TEXT,
    format_version TEXT,
    format_method  TEXT,
    format_basis   TEXT,
    -- Set by `compare`: NULL, then 'new', 'changed', 'unchanged'.
    decision       TEXT,
    file_id        BLOB,
    content_id     BLOB,
    PRIMARY KEY (item_id, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX interim_files_by_content ON interim_files (item_id, content_id) WHERE content_id IS NOT NULL;

CREATE TABLE interim_facts (
    item_id BLOB NOT NULL REFERENCES work_items (id),
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (item_id, name)
) STRICT, WITHOUT ROWID;

-- The ledger of staging space.
CREATE TABLE reservations (
    item_id    BLOB PRIMARY KEY REFERENCES work_items (id),
    bytes      INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may change an object in the stores.
CREATE TABLE object_leases (
    object_id   BLOB PRIMARY KEY REFERENCES objects (id),
    owner       BLOB NOT NULL,
    fence       INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX object_leases_by_owner ON object_leases (owner);

CREATE TABLE outbox (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL,
    item_id        BLOB,
    key            TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL,
    payload        TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    delivered_at   INTEGER
) STRICT, WITHOUT ROWID;

-- Damage found and what became of it.
CREATE TABLE findings (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL,
    object_id      BLOB NOT NULL,
    content_id     BLOB,
    store          TEXT NOT NULL,
    key            TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('damaged', 'missing', 'inventory')),
    state          TEXT NOT NULL CHECK (state IN ('open', 'repaired', 'unrepairable')),
    detail         TEXT NOT NULL,
    quarantine_key TEXT,
    found_at       INTEGER NOT NULL,
    repaired_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX findings_by_object ON findings (object_id, store);
CREATE INDEX findings_open ON findings (institution_id, found_at) WHERE state <> 'repaired';

CREATE TABLE schedules (
    name        TEXT PRIMARY KEY,
    last_run_at INTEGER,
    next_run_at INTEGER NOT NULL,
    holder      TEXT,
    lease_until INTEGER
) STRICT, WITHOUT ROWID;
