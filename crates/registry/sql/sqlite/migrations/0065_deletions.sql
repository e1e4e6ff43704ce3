-- What was deleted of objects: recorded before a byte is removed, and kept. The tombstone is the file that lies in `logs/` of the object
-- afterwards, with the plan in it.
CREATE TABLE deletions (
    id             BLOB PRIMARY KEY,
    -- The work item that carries it out; none where a store told of it.
    item_id        BLOB UNIQUE,
    institution_id BLOB NOT NULL,
    object_id      BLOB NOT NULL REFERENCES objects (id),
    generation     BLOB NOT NULL,
    -- How many files are deleted; none: the whole object.
    files          INTEGER,
    -- begun: rows and bytes are removed, and no other work can hold the object. settled: the registry says what is left, and some
    -- stores may still have bytes. completed: no store in use has any.
    state          TEXT NOT NULL CHECK (state IN ('begun', 'settled', 'completed')),
    name           TEXT NOT NULL,
    tombstone      TEXT NOT NULL,
    begun_at       INTEGER NOT NULL,
    settled_at     INTEGER,
    completed_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX deletions_by_object ON deletions (object_id, begun_at, id);
CREATE INDEX deletions_under_way ON deletions (object_id, id) WHERE state <> 'completed';

-- The stores that a deletion is carried out in.
CREATE TABLE deletion_stores (
    deletion_id BLOB NOT NULL REFERENCES deletions (id),
    store       TEXT NOT NULL,
    object_id   BLOB NOT NULL,
    done_at     INTEGER,
    -- Why it could not be carried out there when that was last tried.
    reason      TEXT,
    PRIMARY KEY (deletion_id, store)
) STRICT, WITHOUT ROWID;
CREATE INDEX deletion_stores_pending ON deletion_stores (object_id, store) WHERE done_at IS NULL;
CREATE INDEX deletion_stores_by_store ON deletion_stores (store, deletion_id);

-- What deleted contents were, for the events that name them.
CREATE TABLE deleted_contents (
    id         BLOB PRIMARY KEY,
    object_id  BLOB NOT NULL REFERENCES objects (id),
    generation BLOB NOT NULL,
    sha512     BLOB NOT NULL,
    size       INTEGER NOT NULL,
    md5        BLOB NOT NULL,
    sha1       BLOB NOT NULL,
    sha256     BLOB NOT NULL,
    version    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_contents_by_object ON deleted_contents (object_id);

-- Which contents deleted paths had, for the events that name them.
CREATE TABLE deleted_entries (
    file_id    BLOB NOT NULL REFERENCES files (id),
    content_id BLOB NOT NULL,
    PRIMARY KEY (file_id, content_id)
) STRICT, WITHOUT ROWID;
