-- Legal holds: what forbids the deletion of a collection, an object or a file until it is released. Rows stay; of a row only the release is
-- set, once.
CREATE TABLE legal_holds (
    id             BLOB    PRIMARY KEY,
    institution_id BLOB    NOT NULL REFERENCES institutions (id),
    -- A collection; or an object, and the file where it is on one of its files.
    collection_id  BLOB    REFERENCES collections (id),
    object_id      BLOB    REFERENCES objects (id),
    file_id        BLOB    REFERENCES files (id),
    reason         TEXT    NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    placed_by      BLOB    NOT NULL REFERENCES actors (id),
    placed_at      INTEGER NOT NULL,
    released_by    BLOB    REFERENCES actors (id),
    released_at    INTEGER,
    release_reason TEXT    CHECK (length(release_reason) BETWEEN 1 AND 2000),
    CHECK ((collection_id IS NULL) <> (object_id IS NULL)),
    CHECK (file_id IS NULL OR object_id IS NOT NULL),
    CHECK ((released_at IS NULL) = (released_by IS NULL) AND (released_at IS NULL) = (release_reason IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX legal_holds_by_institution ON legal_holds (institution_id, id);
CREATE INDEX legal_holds_by_collection ON legal_holds (collection_id, id) WHERE collection_id IS NOT NULL;
CREATE INDEX legal_holds_by_object ON legal_holds (object_id, id) WHERE object_id IS NOT NULL;
CREATE INDEX legal_holds_by_file ON legal_holds (file_id, id) WHERE file_id IS NOT NULL;
CREATE TRIGGER legal_holds_stay BEFORE DELETE ON legal_holds
BEGIN
    SELECT RAISE(ABORT, 'legal holds are never removed');
END;
CREATE TRIGGER legal_holds_are_released_once BEFORE UPDATE ON legal_holds
WHEN OLD.released_at IS NOT NULL OR NEW.released_at IS NULL OR NEW.id <> OLD.id OR NEW.institution_id <> OLD.institution_id
    OR NEW.collection_id IS NOT OLD.collection_id OR NEW.object_id IS NOT OLD.object_id OR NEW.file_id IS NOT OLD.file_id
    OR NEW.reason <> OLD.reason OR NEW.placed_by <> OLD.placed_by OR NEW.placed_at <> OLD.placed_at
BEGIN
    SELECT RAISE(ABORT, 'of a legal hold only the release is set, once');
END;

-- Deletions that have begun and have not ended: a legal hold that is placed meanwhile does not stop them. A row goes with the end of its
-- deletion.
CREATE TABLE begun_deletions (
    item_id       BLOB    PRIMARY KEY,
    object_id     BLOB    NOT NULL REFERENCES objects (id),
    collection_id BLOB    REFERENCES collections (id),
    -- How many files it deletes; none: the whole object.
    files         INTEGER,
    begun_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX begun_deletions_by_object ON begun_deletions (object_id, item_id);
CREATE INDEX begun_deletions_by_collection ON begun_deletions (collection_id, item_id) WHERE collection_id IS NOT NULL;

-- For how long nothing of an object is deleted, and after which time it is due for disposal: `10y`, `6m`, `3650d`; none: no such rule.
ALTER TABLE collection_rules ADD COLUMN retention TEXT;
ALTER TABLE collection_rules ADD COLUMN disposal TEXT;

CREATE INDEX tool_findings_of_object ON tool_findings (object_id, file_id, id) WHERE state = 'open' AND object_id IS NOT NULL;
