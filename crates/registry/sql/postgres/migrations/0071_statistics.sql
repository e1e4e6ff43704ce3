-- How many bytes of what an institution deposits may be kept; none: no limit.
ALTER TABLE institutions ADD COLUMN storage_quota BIGINT;

-- When the deletion of each was begun.
ALTER TABLE deleted_contents ADD COLUMN deleted_at BIGINT;
UPDATE deleted_contents SET deleted_at = (SELECT max(d.begun_at) FROM deletions d
    WHERE d.object_id = deleted_contents.object_id AND d.generation = deleted_contents.generation);
CREATE INDEX deleted_contents_by_object ON deleted_contents (object_id);

-- What restorations have given out: a row for each, which stays. Work items and their results go after a time.
CREATE TABLE disseminations (
    -- The event.
    id        UUID PRIMARY KEY,
    object_id UUID NOT NULL,
    time      BIGINT NOT NULL,
    -- Of the result as it was put.
    bytes     BIGINT NOT NULL
);
CREATE INDEX disseminations_by_object ON disseminations (object_id);
INSERT INTO disseminations (id, object_id, time, bytes)
SELECT e.id, e.object_id, e.time, coalesce(r.size, 0) FROM events e LEFT JOIN restoration_results r ON r.item_id = e.item_id
WHERE e.type = 'dissemination' AND e.outcome = 'success' AND e.object_id IS NOT NULL;

-- Objects of which something has changed that the statistics do not count yet. A row for each change: a change that is made while an object is
-- counted has a row of its own, which stays.
CREATE TABLE statistics_pending (
    id        UUID PRIMARY KEY,
    object_id UUID NOT NULL
);
CREATE INDEX statistics_pending_by_object ON statistics_pending (object_id);
CREATE FUNCTION version_is_counted() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO statistics_pending (id, object_id) VALUES (gen_random_uuid(), NEW.object_id); RETURN NULL; END $$;
CREATE TRIGGER version_is_counted AFTER UPDATE OF state ON versions FOR EACH ROW
WHEN (NEW.state = 'published' AND OLD.state <> 'published') EXECUTE FUNCTION version_is_counted();
CREATE TRIGGER made_version_is_counted AFTER INSERT ON versions FOR EACH ROW
WHEN (NEW.state = 'published') EXECUTE FUNCTION version_is_counted();

-- The statistics that are read (`current`), and those that are being made anew (`making`): every object up to `after_object` is in these.
CREATE TABLE statistics_epochs (
    epoch        BIGINT PRIMARY KEY,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('making', 'current')),
    after_object UUID NOT NULL,
    begun_at     BIGINT NOT NULL,
    ended_at     BIGINT
);

-- What of each object is counted, as JSON.
CREATE TABLE statistics_objects (
    epoch     BIGINT NOT NULL,
    object_id UUID NOT NULL,
    counted   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (epoch, object_id)
);

-- What came in, went out and was deleted on a day: days since 1970-01-01 in UTC. No collection: 16 zeros.
CREATE TABLE statistics_days (
    epoch           BIGINT NOT NULL,
    day             BIGINT NOT NULL,
    institution_id  UUID NOT NULL,
    collection_id   UUID NOT NULL,
    versions        BIGINT NOT NULL,
    objects         BIGINT NOT NULL,
    files           BIGINT NOT NULL,
    bytes           BIGINT NOT NULL,
    restorations    BIGINT NOT NULL,
    restored_bytes  BIGINT NOT NULL,
    deleted_objects BIGINT NOT NULL,
    deleted_files   BIGINT NOT NULL,
    deleted_bytes   BIGINT NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id)
);

-- By how much what a store has has grown on a day; what it has at the end of a day is the sum of all days up to it.
CREATE TABLE statistics_storage (
    epoch          BIGINT NOT NULL,
    day            BIGINT NOT NULL,
    institution_id UUID NOT NULL,
    collection_id  UUID NOT NULL,
    store          TEXT COLLATE "C" NOT NULL,
    class          TEXT COLLATE "C" NOT NULL,
    objects        BIGINT NOT NULL,
    files          BIGINT NOT NULL,
    bytes          BIGINT NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id, store, class)
);

-- The same by format, where each content counts once, whatever the number of its copies.
CREATE TABLE statistics_formats (
    epoch          BIGINT NOT NULL,
    day            BIGINT NOT NULL,
    institution_id UUID NOT NULL,
    collection_id  UUID NOT NULL,
    puid           TEXT COLLATE "C" NOT NULL,
    mime           TEXT COLLATE "C" NOT NULL,
    files          BIGINT NOT NULL,
    bytes          BIGINT NOT NULL,
    PRIMARY KEY (epoch, day, institution_id, collection_id, puid, mime)
);
CREATE INDEX statistics_formats_by_institution ON statistics_formats (epoch, institution_id);

-- Bytes that open deposits of institutions with a quota will add to what is kept. A row stays until its version is counted.
CREATE TABLE storage_reservations (
    item_id        UUID PRIMARY KEY,
    institution_id UUID NOT NULL,
    version_id     UUID NOT NULL,
    bytes          BIGINT NOT NULL
);
CREATE INDEX storage_reservations_by_institution ON storage_reservations (institution_id);
CREATE INDEX storage_reservations_by_version ON storage_reservations (version_id);
