-- Times are microseconds since the epoch, sizes bytes, digests raw bytes. Texts that people sort or walk through are compared
-- by their bytes, as in the other dialect. Where rows change often, room is left in the pages and sweeping begins early.

CREATE TABLE registry_facts (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE institutions (
    id         UUID PRIMARY KEY,
    identifier TEXT COLLATE "C" NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'deactivated')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE collections (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    identifier     TEXT COLLATE "C" NOT NULL,
    name           TEXT NOT NULL,
    profile        TEXT,
    placement      TEXT,
    held           BOOLEAN NOT NULL DEFAULT FALSE,
    state          TEXT NOT NULL CHECK (state IN ('active', 'removed')),
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    UNIQUE (institution_id, identifier)
);

-- An object. `new` until its first version is published; then `active`; `deleted` when every file was taken out.
CREATE TABLE objects (
    id                          UUID PRIMARY KEY,
    institution_id              UUID NOT NULL REFERENCES institutions (id),
    collection_id               UUID REFERENCES collections (id),
    identifier                  TEXT COLLATE "C" NOT NULL,
    generation                  UUID NOT NULL,
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
    head                        BIGINT NOT NULL DEFAULT 0,
    files                       BIGINT NOT NULL DEFAULT 0,
    bytes                       BIGINT NOT NULL DEFAULT 0,
    created_at                  BIGINT NOT NULL,
    updated_at                  BIGINT NOT NULL,
    UNIQUE (institution_id, identifier)
);
CREATE INDEX objects_by_update ON objects (institution_id, updated_at);

CREATE TABLE local_ids (
    object_id UUID NOT NULL REFERENCES objects (id),
    local_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (object_id, local_id)
);
CREATE INDEX local_ids_by_id ON local_ids (local_id);

-- A path of an object; one identifier for ever. `path` is the logical path: deposit/..., submission/vN/..., metadata/vN/...
-- Whether it is active, and with which content, follows from `entries` and the object's head.
CREATE TABLE files (
    id         UUID PRIMARY KEY,
    object_id  UUID NOT NULL REFERENCES objects (id),
    path       TEXT COLLATE "C" NOT NULL,
    modified   BIGINT,
    created_at BIGINT NOT NULL,
    UNIQUE (object_id, path)
);

-- Distinct bytes within one storage generation of an object. `version` names the version whose folder holds them: readers
-- see contents up to the object's head.
CREATE TABLE contents (
    id             UUID PRIMARY KEY,
    object_id      UUID NOT NULL REFERENCES objects (id),
    generation     UUID NOT NULL,
    sha512         BYTEA NOT NULL,
    size           BIGINT NOT NULL,
    md5            BYTEA NOT NULL,
    sha1           BYTEA NOT NULL,
    sha256         BYTEA NOT NULL,
    version        BIGINT NOT NULL,
    puid           TEXT,
    mime           TEXT,
    format_name    TEXT,
    format_version TEXT,
    format_method  TEXT,
    format_basis   TEXT,
    created_at     BIGINT NOT NULL,
    UNIQUE (object_id, generation, sha512)
);

CREATE TABLE versions (
    id               UUID PRIMARY KEY,
    object_id        UUID NOT NULL REFERENCES objects (id),
    generation       UUID NOT NULL,
    number           BIGINT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('preparing', 'committing', 'published', 'dropped')),
    item_id          UUID,
    message          TEXT NOT NULL,
    user_name        TEXT NOT NULL,
    inventory_sha512 BYTEA,
    -- What the object is from this version on, as JSON; taken over by the object when it is published.
    description      TEXT NOT NULL,
    files            BIGINT NOT NULL DEFAULT 0,
    bytes            BIGINT NOT NULL DEFAULT 0,
    created_at       BIGINT NOT NULL,
    published_at     BIGINT
);
CREATE UNIQUE INDEX versions_by_number ON versions (object_id, generation, number) WHERE state <> 'dropped';
CREATE INDEX versions_by_item ON versions (item_id);

-- Which content a path has from a version on; NULL where the version takes the path away. Only changes have rows.
CREATE TABLE entries (
    object_id  UUID NOT NULL REFERENCES objects (id),
    file_id    UUID NOT NULL REFERENCES files (id),
    generation UUID NOT NULL,
    version    BIGINT NOT NULL,
    content_id UUID,
    PRIMARY KEY (object_id, generation, version, file_id)
);
CREATE INDEX entries_by_file ON entries (file_id, version);
CREATE INDEX entries_by_content ON entries (content_id) WHERE content_id IS NOT NULL;

-- One content in one store.
CREATE TABLE copies (
    content_id     UUID NOT NULL REFERENCES contents (id),
    store          TEXT COLLATE "C" NOT NULL,
    institution_id UUID NOT NULL,
    object_id      UUID NOT NULL,
    key            TEXT NOT NULL,
    class          TEXT,
    state          TEXT NOT NULL CHECK (state IN ('kept', 'damaged', 'missing')),
    stored_at      BIGINT NOT NULL,
    verified_at    BIGINT,
    last_fixity_at BIGINT,
    -- When it was last looked at with any outcome; what fixity orders by.
    checked_at     BIGINT NOT NULL,
    -- When a copy that could not be read was last looked at by its size and class only.
    attested_at    BIGINT,
    PRIMARY KEY (content_id, store)
) WITH (fillfactor = 90);
CREATE INDEX copies_by_check ON copies (store, checked_at, content_id);
CREATE INDEX copies_by_object ON copies (object_id, store, checked_at, content_id);
-- What `verify` has still to prove: empty when nothing is being taken in.
CREATE INDEX copies_unverified ON copies (object_id, store, content_id) WHERE verified_at IS NULL;

-- What of an object besides contents lies in a store: declaration, inventories and sidecars, watched as one.
CREATE TABLE object_copies (
    object_id      UUID NOT NULL REFERENCES objects (id),
    store          TEXT COLLATE "C" NOT NULL,
    institution_id UUID NOT NULL,
    generation     UUID NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('kept', 'damaged', 'missing')),
    checked_at     BIGINT NOT NULL,
    last_fixity_at BIGINT,
    PRIMARY KEY (object_id, store)
) WITH (fillfactor = 80);
CREATE INDEX object_copies_by_check ON object_copies (store, checked_at, object_id);

-- Immutable. `expansion` names acts that always come together and are told apart on reading; see the events module.
CREATE TABLE events (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL,
    object_id      UUID,
    file_id        UUID,
    content_id     UUID,
    item_id        UUID,
    version        BIGINT,
    type           TEXT NOT NULL,
    expansion      TEXT,
    time           BIGINT NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'warning')),
    detail         TEXT,
    outcome_detail TEXT,
    agent          TEXT NOT NULL
);
CREATE INDEX events_by_object ON events (object_id, time, id);
CREATE INDEX events_by_file ON events (file_id, time) WHERE file_id IS NOT NULL;
CREATE INDEX events_by_institution ON events (institution_id, time);

CREATE TABLE batches (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    collection_id  UUID REFERENCES collections (id),
    type           TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN
        ('pending', 'held', 'processing', 'reporting', 'completed', 'failed', 'update_reporting', 'deleted')),
    submitted_by   TEXT NOT NULL,
    note           TEXT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX batches_by_time ON batches (institution_id, created_at);

CREATE TABLE work_items (
    id                UUID PRIMARY KEY,
    batch_id          UUID REFERENCES batches (id),
    institution_id    UUID NOT NULL REFERENCES institutions (id),
    collection_id     UUID REFERENCES collections (id),
    action            TEXT NOT NULL,
    object_id         UUID,
    object_identifier TEXT COLLATE "C" NOT NULL,
    file_id           UUID,
    name              TEXT NOT NULL,
    source            TEXT,
    etag              TEXT,
    size              BIGINT,
    options           TEXT NOT NULL DEFAULT '{}',
    stage             TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN
        ('pending', 'started', 'held', 'failed', 'cancelled', 'succeeded', 'deleted')),
    priority          BIGINT NOT NULL DEFAULT 50,
    note              TEXT,
    needs_review      BOOLEAN NOT NULL DEFAULT FALSE,
    retry_count       BIGINT NOT NULL DEFAULT 0,
    cancel_requested  TEXT,
    fence             BIGINT NOT NULL DEFAULT 0,
    holder            TEXT,
    lease_until       BIGINT,
    version           BIGINT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    stage_started_at  BIGINT
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
CREATE INDEX work_items_open ON work_items (institution_id, object_identifier, id)
    WHERE status IN ('pending', 'started', 'held');
CREATE INDEX work_items_by_status ON work_items (status, id);
CREATE INDEX work_items_by_batch ON work_items (batch_id);
CREATE INDEX work_items_by_object ON work_items (object_id) WHERE object_id IS NOT NULL;

CREATE TABLE item_history (
    item_id UUID NOT NULL REFERENCES work_items (id),
    number  BIGINT NOT NULL,
    time    BIGINT NOT NULL,
    stage   TEXT NOT NULL,
    status  TEXT NOT NULL,
    note    TEXT,
    holder  TEXT,
    fence   BIGINT NOT NULL,
    PRIMARY KEY (item_id, number)
);

CREATE TABLE item_problems (
    item_id  UUID NOT NULL REFERENCES work_items (id),
    number   BIGINT NOT NULL,
    severity TEXT NOT NULL,
    code     TEXT NOT NULL,
    file     TEXT,
    path     TEXT,
    line     BIGINT,
    message  TEXT NOT NULL,
    PRIMARY KEY (item_id, number)
);

-- What an open work item knows of each file of its deposit. Gone when the item ends.
CREATE TABLE interim_files (
    item_id        UUID NOT NULL REFERENCES work_items (id),
    path           TEXT COLLATE "C" NOT NULL,
    size           BIGINT NOT NULL,
    md5            BYTEA NOT NULL,
    sha1           BYTEA NOT NULL,
    sha256         BYTEA NOT NULL,
    sha512         BYTEA NOT NULL,
    modified       BIGINT,
    -- Where its bytes lie in staging; small files lie behind each other under one key.
    staging_key    TEXT NOT NULL,
    staging_offset BIGINT NOT NULL,
    mime           TEXT,
    puid           TEXT,
    format_name    TEXT,
    format_version TEXT,
    format_method  TEXT,
    format_basis   TEXT,
    -- Set by `compare`: NULL, then 'new', 'changed', 'unchanged'.
    decision       TEXT,
    file_id        UUID,
    content_id     UUID,
    PRIMARY KEY (item_id, path)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);

CREATE INDEX interim_files_by_content ON interim_files (item_id, content_id) WHERE content_id IS NOT NULL;

CREATE TABLE interim_facts (
    item_id UUID NOT NULL REFERENCES work_items (id),
    name    TEXT COLLATE "C" NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (item_id, name)
);

-- The ledger of staging space.
CREATE TABLE reservations (
    item_id    UUID PRIMARY KEY REFERENCES work_items (id),
    bytes      BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Who may change an object in the stores.
CREATE TABLE object_leases (
    object_id   UUID PRIMARY KEY REFERENCES objects (id),
    owner       UUID NOT NULL,
    fence       BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
CREATE INDEX object_leases_by_owner ON object_leases (owner);

CREATE TABLE outbox (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL,
    item_id        UUID,
    key            TEXT COLLATE "C" NOT NULL UNIQUE,
    kind           TEXT NOT NULL,
    payload        TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    delivered_at   BIGINT
);

-- Damage found and what became of it.
CREATE TABLE findings (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL,
    object_id      UUID NOT NULL,
    content_id     UUID,
    store          TEXT COLLATE "C" NOT NULL,
    key            TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('damaged', 'missing', 'inventory')),
    state          TEXT NOT NULL CHECK (state IN ('open', 'repaired', 'unrepairable')),
    detail         TEXT NOT NULL,
    quarantine_key TEXT,
    found_at       BIGINT NOT NULL,
    repaired_at    BIGINT
);
CREATE INDEX findings_by_object ON findings (object_id, store);
CREATE INDEX findings_open ON findings (institution_id, found_at) WHERE state <> 'repaired';

CREATE TABLE schedules (
    name        TEXT COLLATE "C" PRIMARY KEY,
    last_run_at BIGINT,
    next_run_at BIGINT NOT NULL,
    holder      TEXT,
    lease_until BIGINT
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
