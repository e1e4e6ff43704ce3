-- Where rules copy: a space of a store to the space of the same name of another store, for an institution. A space without a name stands for
-- the list of spaces of both stores.
CREATE TABLE duplication_routes (
    id             UUID NOT NULL PRIMARY KEY,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    source         TEXT COLLATE "C" NOT NULL,
    destination    TEXT COLLATE "C" NOT NULL,
    space          TEXT COLLATE "C" NOT NULL,
    UNIQUE (institution_id, source, destination, space)
);

CREATE INDEX duplication_routes_into ON duplication_routes (destination, space);

-- The newest event that was reported of each content item of plain stores. A key without characters stands for the space. A row for each
-- key that had an event: a deletion is the reason for which a copy may be deleted, at any time after it.
CREATE TABLE content_events (
    store       TEXT COLLATE "C" NOT NULL,
    space       TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    -- Another one for each event.
    id          UUID NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('put', 'delete')),
    -- By the clock of who reports it.
    happened_at BIGINT NOT NULL,
    -- By the clock of the registry.
    recorded_at BIGINT NOT NULL,
    -- Who reports it, and what they say of it.
    actor       TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store, space, key)
);
CREATE INDEX content_events_deletions ON content_events (store, space, key) WHERE kind = 'delete';

-- What came of a content item of a route, as it was seen last. A row for each key as long as a store has it, and for each that was deleted or is in trouble.
CREATE TABLE duplicated_items (
    route_id         UUID NOT NULL REFERENCES duplication_routes (id),
    key              TEXT COLLATE "C" NOT NULL,
    outcome          TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('equal', 'kept', 'deleted', 'lost', 'damaged', 'conflict')),
    -- What both stores have, where the bytes are known to be equal; for a lost one what the destination has.
    source_etag      TEXT COLLATE "C",
    destination_etag TEXT COLLATE "C",
    -- What listings show of both, with their descriptions.
    source_revision  TEXT COLLATE "C",
    destination_revision TEXT COLLATE "C",
    size             BIGINT,
    -- The digest of the bytes, where they were read.
    sha512           BYTEA,
    -- When the bytes of both were compared, by reading them or by digests that the stores vouch for.
    verified_at      BIGINT,
    recorded_at      BIGINT NOT NULL,
    detail           TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (route_id, key)
);
CREATE INDEX duplicated_items_in_trouble ON duplicated_items (route_id, key) WHERE outcome IN ('lost', 'damaged', 'conflict');

-- Sweeps: a comparison of everything that the policy of an institution copies.
CREATE TABLE duplication_runs (
    id             UUID NOT NULL PRIMARY KEY,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    -- In the order of their beginnings, from 1.
    number         BIGINT NOT NULL,
    policy_version BIGINT NOT NULL,
    -- Whether every content item is queued, and not only what differs.
    is_whole       BOOLEAN NOT NULL,
    -- Who started it; none where its time had come.
    started_by     TEXT COLLATE "C",
    started_at     BIGINT NOT NULL,
    ended_at       BIGINT,
    UNIQUE (institution_id, number)
);
CREATE UNIQUE INDEX duplication_runs_open ON duplication_runs (institution_id) WHERE ended_at IS NULL;

-- The parts of a sweep: one for each route. A process leases a part; each of its transactions raises the fence.
CREATE TABLE duplication_parts (
    run_id      UUID NOT NULL REFERENCES duplication_runs (id),
    route_id    UUID NOT NULL REFERENCES duplication_routes (id),
    phase       TEXT COLLATE "C" NOT NULL
        CHECK (phase IN ('spaces', 'deletions', 'copies', 'held', 'allowed', 'done', 'failed', 'dropped')),
    -- The name behind which the phase goes on.
    reached     TEXT COLLATE "C" NOT NULL,
    listed      BIGINT NOT NULL,
    queued      BIGINT NOT NULL,
    equal       BIGINT NOT NULL,
    ignored     BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    -- Tasks for deletions, which are not among those that are queued of what is listed.
    deletions   BIGINT NOT NULL,
    -- Deletions that wait for a person.
    held        BIGINT NOT NULL,
    -- Until when the deletions that wait were recorded that a person has allowed.
    allowed_to  BIGINT,
    attempts    BIGINT NOT NULL,
    error       TEXT COLLATE "C",
    -- It is not worked on before this time, and what was worked on last comes last.
    turn_at     BIGINT NOT NULL,
    -- Which process has it, and another one for each lease.
    holder      TEXT COLLATE "C",
    lease_id    UUID,
    lease_until BIGINT,
    fence       BIGINT NOT NULL,
    PRIMARY KEY (run_id, route_id)
);
CREATE INDEX duplication_parts_open ON duplication_parts (turn_at, run_id, route_id)
    WHERE phase IN ('spaces', 'deletions', 'copies', 'allowed');
