-- What was deleted of objects: recorded before a byte is removed, and kept. The tombstone is the file that lies in `logs/` of the object
-- afterwards, with the plan in it.
CREATE TABLE deletions (
    id             UUID PRIMARY KEY,
    -- The work item that carries it out; none where a store told of it.
    item_id        UUID UNIQUE,
    institution_id UUID NOT NULL,
    object_id      UUID NOT NULL REFERENCES objects (id),
    generation     UUID NOT NULL,
    -- How many files are deleted; none: the whole object.
    files          BIGINT,
    -- begun: rows and bytes are removed, and no other work can hold the object. settled: the registry says what is left, and some
    -- stores may still have bytes. completed: no store in use has any.
    state          TEXT COLLATE "C" NOT NULL CHECK (state IN ('begun', 'settled', 'completed')),
    name           TEXT COLLATE "C" NOT NULL,
    tombstone      TEXT COLLATE "C" NOT NULL,
    begun_at       BIGINT NOT NULL,
    settled_at     BIGINT,
    completed_at   BIGINT
);
CREATE INDEX deletions_by_object ON deletions (object_id, begun_at, id);
CREATE INDEX deletions_under_way ON deletions (object_id, id) WHERE state <> 'completed';

-- The stores that a deletion is carried out in.
CREATE TABLE deletion_stores (
    deletion_id UUID NOT NULL REFERENCES deletions (id),
    store       TEXT COLLATE "C" NOT NULL,
    object_id   UUID NOT NULL,
    done_at     BIGINT,
    -- Why it could not be carried out there when that was last tried.
    reason      TEXT COLLATE "C",
    PRIMARY KEY (deletion_id, store)
);
CREATE INDEX deletion_stores_pending ON deletion_stores (object_id, store) WHERE done_at IS NULL;
CREATE INDEX deletion_stores_by_store ON deletion_stores (store, deletion_id);

-- What deleted contents were, for the events that name them.
CREATE TABLE deleted_contents (
    id         UUID PRIMARY KEY,
    object_id  UUID NOT NULL REFERENCES objects (id),
    generation UUID NOT NULL,
    sha512     BYTEA NOT NULL,
    size       BIGINT NOT NULL,
    md5        BYTEA NOT NULL,
    sha1       BYTEA NOT NULL,
    sha256     BYTEA NOT NULL,
    version    BIGINT NOT NULL
);
CREATE INDEX deleted_contents_by_object ON deleted_contents (object_id);

-- Which contents deleted paths had, for the events that name them.
CREATE TABLE deleted_entries (
    file_id    UUID NOT NULL REFERENCES files (id),
    content_id UUID NOT NULL,
    PRIMARY KEY (file_id, content_id)
);
