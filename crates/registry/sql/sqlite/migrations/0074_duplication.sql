-- Where rules copy: a space of a store to the space of the same name of another store, for an institution. A space without a name stands for
-- the list of spaces of both stores.
CREATE TABLE duplication_routes (
    id             BLOB NOT NULL PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    source         TEXT NOT NULL,
    destination    TEXT NOT NULL,
    space          TEXT NOT NULL,
    UNIQUE (institution_id, source, destination, space)
) STRICT, WITHOUT ROWID;

CREATE INDEX duplication_routes_into ON duplication_routes (destination, space);

-- The newest event that was reported of each content item of plain stores. A key without characters stands for the space. A row for each
-- key that had an event: a deletion is the reason for which a copy may be deleted, at any time after it.
CREATE TABLE content_events (
    store       TEXT NOT NULL,
    space       TEXT NOT NULL,
    key         TEXT NOT NULL,
    -- Another one for each event.
    id          BLOB NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('put', 'delete')),
    -- By the clock of who reports it.
    happened_at INTEGER NOT NULL,
    -- By the clock of the registry.
    recorded_at INTEGER NOT NULL,
    -- Who reports it, and what they say of it.
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (store, space, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX content_events_deletions ON content_events (store, space, key) WHERE kind = 'delete';

-- What came of a content item of a route, as it was seen last. A row for each key as long as a store has it, and for each that was deleted or is in trouble.
CREATE TABLE duplicated_items (
    route_id         BLOB NOT NULL REFERENCES duplication_routes (id),
    key              TEXT NOT NULL,
    outcome          TEXT NOT NULL CHECK (outcome IN ('equal', 'kept', 'deleted', 'lost', 'damaged', 'conflict')),
    -- What both stores have, where the bytes are known to be equal; for a lost one what the destination has.
    source_etag      TEXT,
    destination_etag TEXT,
    -- What listings show of both, with their descriptions.
    source_revision  TEXT,
    destination_revision TEXT,
    size             INTEGER,
    -- The digest of the bytes, where they were read.
    sha512           BLOB,
    -- When the bytes of both were compared, by reading them or by digests that the stores vouch for.
    verified_at      INTEGER,
    recorded_at      INTEGER NOT NULL,
    detail           TEXT NOT NULL,
    PRIMARY KEY (route_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX duplicated_items_in_trouble ON duplicated_items (route_id, key) WHERE outcome IN ('lost', 'damaged', 'conflict');

-- Sweeps: a comparison of everything that the policy of an institution copies.
CREATE TABLE duplication_runs (
    id             BLOB NOT NULL PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    -- In the order of their beginnings, from 1.
    number         INTEGER NOT NULL,
    policy_version INTEGER NOT NULL,
    -- Whether every content item is queued, and not only what differs.
    is_whole       INTEGER NOT NULL,
    -- Who started it; none where its time had come.
    started_by     TEXT,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    UNIQUE (institution_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX duplication_runs_open ON duplication_runs (institution_id) WHERE ended_at IS NULL;

-- The parts of a sweep: one for each route. A process leases a part; each of its transactions raises the fence.
CREATE TABLE duplication_parts (
    run_id      BLOB NOT NULL REFERENCES duplication_runs (id),
    route_id    BLOB NOT NULL REFERENCES duplication_routes (id),
    phase       TEXT NOT NULL
        CHECK (phase IN ('spaces', 'deletions', 'copies', 'held', 'allowed', 'done', 'failed', 'dropped')),
    -- The name behind which the phase goes on.
    reached     TEXT NOT NULL,
    listed      INTEGER NOT NULL,
    queued      INTEGER NOT NULL,
    equal       INTEGER NOT NULL,
    ignored     INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    -- Tasks for deletions, which are not among those that are queued of what is listed.
    deletions   INTEGER NOT NULL,
    -- Deletions that wait for a person.
    held        INTEGER NOT NULL,
    -- Until when the deletions that wait were recorded that a person has allowed.
    allowed_to  INTEGER,
    attempts    INTEGER NOT NULL,
    error       TEXT,
    -- It is not worked on before this time, and what was worked on last comes last.
    turn_at     INTEGER NOT NULL,
    -- Which process has it, and another one for each lease.
    holder      TEXT,
    lease_id    BLOB,
    lease_until INTEGER,
    fence       INTEGER NOT NULL,
    PRIMARY KEY (run_id, route_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX duplication_parts_open ON duplication_parts (turn_at, run_id, route_id)
    WHERE phase IN ('spaces', 'deletions', 'copies', 'allowed');
