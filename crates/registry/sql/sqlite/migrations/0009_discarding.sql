-- A version that is discarded is `dropping` while its rows go, then `dropped`; it keeps its number until its bytes are gone
-- too, and `swept_at` says when they were. `owns_contents`: whether its contents lie under its identifier in the stores,
-- `vN/content/<version id>/...`. `record_head`: the first line of its record, as it was first written.
CREATE TABLE new_versions (
    id               BLOB PRIMARY KEY,
    object_id        BLOB NOT NULL REFERENCES objects (id),
    generation       BLOB NOT NULL,
    number           INTEGER NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('preparing', 'committing', 'published', 'dropping', 'dropped')),
    item_id          BLOB,
    message          TEXT NOT NULL,
    user_name        TEXT NOT NULL,
    inventory_sha512 BLOB,
    -- What the object is from this version on, as JSON; taken over by the object when it is published.
    description      TEXT NOT NULL,
    files            INTEGER NOT NULL DEFAULT 0,
    bytes            INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    published_at     INTEGER,
    owns_contents    INTEGER NOT NULL DEFAULT 1,
    record_head      TEXT,
    swept_at         INTEGER
) STRICT, WITHOUT ROWID;
-- What was being prepared is written again under its identifier; what was being committed goes on as it was.
INSERT INTO new_versions (id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512,
    description, files, bytes, created_at, published_at, owns_contents, swept_at)
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files, bytes,
    created_at, published_at, state = 'preparing', CASE WHEN state = 'dropped' THEN created_at END
FROM versions;
DROP TABLE versions;
ALTER TABLE new_versions RENAME TO versions;
CREATE UNIQUE INDEX versions_by_number ON versions (object_id, generation, number) WHERE swept_at IS NULL;
CREATE INDEX versions_by_item ON versions (item_id);
CREATE INDEX versions_by_object ON versions (object_id, generation, number);
CREATE INDEX versions_by_generation ON versions (generation, number);
CREATE INDEX versions_unswept ON versions (object_id) WHERE state IN ('dropping', 'dropped') AND swept_at IS NULL;
CREATE INDEX versions_by_sweep ON versions (swept_at) WHERE swept_at IS NOT NULL;

-- The version that brought a content and under whose identifier it lies; NULL where it lies directly in `vN/content/`.
ALTER TABLE contents ADD COLUMN version_id BLOB;
DELETE FROM copies WHERE content_id IN (SELECT c.id FROM contents c JOIN versions v ON v.object_id = c.object_id
    AND v.generation = c.generation AND v.number = c.version WHERE v.state = 'preparing');
UPDATE contents SET version_id = (SELECT v.id FROM versions v WHERE v.object_id = contents.object_id
    AND v.generation = contents.generation AND v.number = contents.version AND v.state = 'preparing');

-- Staged bytes lie under `<item>/<staging_id>/`. `is_discarded`: they are being removed, and are not used again.
ALTER TABLE reservations ADD COLUMN staging_id BLOB;
ALTER TABLE reservations ADD COLUMN is_discarded INTEGER NOT NULL DEFAULT 0;
