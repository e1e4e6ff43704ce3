-- How many bytes of what an institution deposits may be kept; none: no limit.
ALTER TABLE institutions ADD COLUMN storage_quota INTEGER;

-- When the deletion of each was begun.
ALTER TABLE deleted_contents ADD COLUMN deleted_at INTEGER;
UPDATE deleted_contents SET deleted_at = (SELECT max(d.begun_at) FROM deletions d
    WHERE d.object_id = deleted_contents.object_id AND d.generation = deleted_contents.generation);
CREATE INDEX deleted_contents_by_object ON deleted_contents (object_id);

-- What restorations have given out: a row for each, which stays. Work items and their results go after a time.
CREATE TABLE disseminations (
    -- The event.
    id        BLOB PRIMARY KEY,
    object_id BLOB NOT NULL,
    time      INTEGER NOT NULL,
    -- Of the result as it was put.
    bytes     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX disseminations_by_object ON disseminations (object_id);
INSERT INTO disseminations (id, object_id, time, bytes)
SELECT e.id, e.object_id, e.time, coalesce(r.size, 0) FROM events e LEFT JOIN restoration_results r ON r.item_id = e.item_id
WHERE e.type = 'dissemination' AND e.outcome = 'success' AND e.object_id IS NOT NULL;

-- Objects of which something has changed that the statistics do not count yet. A row for each change: a change that is made while an object is
-- counted has a row of its own, which stays.
CREATE TABLE statistics_pending (
    id        BLOB PRIMARY KEY,
    object_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX statistics_pending_by_object ON statistics_pending (object_id);
CREATE TRIGGER version_is_counted AFTER UPDATE OF state ON versions WHEN NEW.state = 'published' AND OLD.state <> 'published'
BEGIN INSERT INTO statistics_pending (id, object_id) VALUES (randomblob(16), NEW.object_id); END;
CREATE TRIGGER made_version_is_counted AFTER INSERT ON versions WHEN NEW.state = 'published'
BEGIN INSERT INTO statistics_pending (id, object_id) VALUES (randomblob(16), NEW.object_id); END;

-- The statistics that are read (`current`), and those that are being made anew (`making`): every object up to `after_object` is in these.
CREATE TABLE statistics_epochs (
    epoch        INTEGER PRIMARY KEY,
    state        TEXT NOT NULL CHECK (state IN ('making', 'current')),
    after_object BLOB NOT NULL,
    begun_at     INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;

-- What of each object is counted, as JSON.
CREATE TABLE statistics_objects (
    epoch     INTEGER NOT NULL,
    object_id BLOB NOT NULL,
    counted   TEXT NOT NULL,
    PRIMARY KEY (epoch, object_id)
) STRICT, WITHOUT ROWID;

-- What came in, went out and was deleted on a day: days since 1970-01-01 in UTC. No collection: 16 zeros.
CREATE TABLE statistics_days (
    epoch           INTEGER NOT NULL,
    day             INTEGER NOT NULL,
    institution_id  BLOB NOT NULL,
    collection_id   BLOB NOT NULL,
    versions        INTEGER NOT NULL,
    objects         INTEGER NOT NULL,
    files           INTEGER NOT NULL,
    bytes           INTEGER NOT NULL,
    restorations    INTEGER NOT NULL,
    restored_bytes  INTEGER NOT NULL,
    deleted_objects INTEGER NOT NULL,
    deleted_files   INTEGER NOT NULL,
    deleted_bytes   INTEGER NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id)
) STRICT, WITHOUT ROWID;

-- By how much what a store has has grown on a day; what it has at the end of a day is the sum of all days up to it.
CREATE TABLE statistics_storage (
    epoch          INTEGER NOT NULL,
    day            INTEGER NOT NULL,
    institution_id BLOB NOT NULL,
    collection_id  BLOB NOT NULL,
    store          TEXT NOT NULL,
    class          TEXT NOT NULL,
    objects        INTEGER NOT NULL,
    files          INTEGER NOT NULL,
    bytes          INTEGER NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id, store, class)
) STRICT, WITHOUT ROWID;

-- The same by format, where each content counts once, whatever the number of its copies.
CREATE TABLE statistics_formats (
    epoch          INTEGER NOT NULL,
    day            INTEGER NOT NULL,
    institution_id BLOB NOT NULL,
    collection_id  BLOB NOT NULL,
    puid           TEXT NOT NULL,
    mime           TEXT NOT NULL,
    files          INTEGER NOT NULL,
    bytes          INTEGER NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id, puid, mime)
) STRICT, WITHOUT ROWID;
CREATE INDEX statistics_formats_by_institution ON statistics_formats (epoch, institution_id);

-- Bytes that open deposits of institutions with a quota will add to what is kept. A row stays until its version is counted.
CREATE TABLE storage_reservations (
    item_id        BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL,
    version_id     BLOB NOT NULL,
    bytes          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX storage_reservations_by_institution ON storage_reservations (institution_id);
CREATE INDEX storage_reservations_by_version ON storage_reservations (version_id);
