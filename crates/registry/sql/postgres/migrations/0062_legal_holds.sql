-- Legal holds: what forbids the deletion of a collection, an object or a file until it is released. Rows stay; of a row only the release is
-- set, once.
CREATE TABLE legal_holds (
    id             UUID   PRIMARY KEY,
    institution_id UUID   NOT NULL REFERENCES institutions (id),
    -- A collection; or an object, and the file where it is on one of its files.
    collection_id  UUID   REFERENCES collections (id),
    object_id      UUID   REFERENCES objects (id),
    file_id        UUID   REFERENCES files (id),
    reason         TEXT   NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    placed_by      UUID   NOT NULL REFERENCES actors (id),
    placed_at      BIGINT NOT NULL,
    released_by    UUID   REFERENCES actors (id),
    released_at    BIGINT,
    release_reason TEXT   CHECK (length(release_reason) BETWEEN 1 AND 2000),
    CHECK ((collection_id IS NULL) <> (object_id IS NULL)),
    CHECK (file_id IS NULL OR object_id IS NOT NULL),
    CHECK ((released_at IS NULL) = (released_by IS NULL) AND (released_at IS NULL) = (release_reason IS NULL))
);
CREATE INDEX legal_holds_by_institution ON legal_holds (institution_id, id);
CREATE INDEX legal_holds_by_collection ON legal_holds (collection_id, id) WHERE collection_id IS NOT NULL;
CREATE INDEX legal_holds_by_object ON legal_holds (object_id, id) WHERE object_id IS NOT NULL;
CREATE INDEX legal_holds_by_file ON legal_holds (file_id, id) WHERE file_id IS NOT NULL;
CREATE FUNCTION legal_holds_stay() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'legal holds are never removed'; END $$;
CREATE TRIGGER legal_holds_stay BEFORE DELETE ON legal_holds FOR EACH ROW EXECUTE FUNCTION legal_holds_stay();
CREATE TRIGGER legal_holds_are_not_truncated BEFORE TRUNCATE ON legal_holds
FOR EACH STATEMENT EXECUTE FUNCTION legal_holds_stay();
CREATE FUNCTION legal_holds_are_released_once() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'of a legal hold only the release is set, once'; END $$;
CREATE TRIGGER legal_holds_are_released_once BEFORE UPDATE ON legal_holds FOR EACH ROW
WHEN (OLD.released_at IS NOT NULL OR NEW.released_at IS NULL OR NEW.id <> OLD.id OR NEW.institution_id <> OLD.institution_id
    OR NEW.collection_id IS DISTINCT FROM OLD.collection_id OR NEW.object_id IS DISTINCT FROM OLD.object_id
    OR NEW.file_id IS DISTINCT FROM OLD.file_id OR NEW.reason <> OLD.reason OR NEW.placed_by <> OLD.placed_by
    OR NEW.placed_at <> OLD.placed_at)
EXECUTE FUNCTION legal_holds_are_released_once();

-- Deletions that have begun and have not ended: a legal hold that is placed meanwhile does not stop them. A row goes with the end of its
-- deletion.
CREATE TABLE begun_deletions (
    item_id       UUID   PRIMARY KEY,
    object_id     UUID   NOT NULL REFERENCES objects (id),
    collection_id UUID   REFERENCES collections (id),
    -- How many files it deletes; none: the whole object.
    files         BIGINT,
    begun_at      BIGINT NOT NULL
);
CREATE INDEX begun_deletions_by_object ON begun_deletions (object_id, item_id);
CREATE INDEX begun_deletions_by_collection ON begun_deletions (collection_id, item_id) WHERE collection_id IS NOT NULL;

-- For how long nothing of an object is deleted, and after which time it is due for disposal: `10y`, `6m`, `3650d`; none: no such rule.
ALTER TABLE collection_rules ADD COLUMN retention TEXT;
ALTER TABLE collection_rules ADD COLUMN disposal TEXT;

CREATE INDEX tool_findings_of_object ON tool_findings (object_id, file_id, id) WHERE state = 'open' AND object_id IS NOT NULL;
