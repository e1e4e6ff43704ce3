-- What lies or lay in the receiving stores. A row for each name in a store: what was seen there last, and what became of it.
-- Once it was submitted its row stays.
CREATE TABLE uploads (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    store          TEXT NOT NULL,
    -- Ends in a slash for a folder, of which all keys together are one upload. In the order of a listing.
    key            TEXT NOT NULL,
    etag           TEXT NOT NULL,
    size           INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('settling', 'not_a_bag', 'submitted', 'known', 'published', 'failed',
        'invalid', 'cancelled', 'removing', 'removed', 'withdrawn')),
    note           TEXT,
    -- The latest work item made of it.
    item_id        BLOB REFERENCES work_items (id),
    first_seen_at  INTEGER NOT NULL,
    -- The first look that found it as it is.
    changed_at     INTEGER NOT NULL,
    remove_after   INTEGER,
    warned_at      INTEGER,
    UNIQUE (store, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_state ON uploads (state, id);
CREATE INDEX uploads_by_institution ON uploads (institution_id, id);
CREATE INDEX uploads_by_item ON uploads (item_id) WHERE item_id IS NOT NULL;

-- What was submitted, for ever: nothing is taken in twice.
CREATE TABLE receipts (
    store   TEXT NOT NULL,
    key     TEXT NOT NULL,
    etag    TEXT NOT NULL,
    item_id BLOB NOT NULL REFERENCES work_items (id),
    made_at INTEGER NOT NULL,
    PRIMARY KEY (store, key, etag)
) STRICT, WITHOUT ROWID;

-- Where the listing of an institution's place in a store goes on. No row: at its beginning.
CREATE TABLE receiving_cursors (
    store          TEXT NOT NULL,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    -- The last key that was seen.
    after_key      TEXT NOT NULL,
    -- The last upload of which all keys were seen.
    after_upload   TEXT NOT NULL,
    -- What is known of a folder whose keys were not all seen, as JSON.
    folder         TEXT,
    looked_at      INTEGER NOT NULL,
    PRIMARY KEY (store, institution_id)
) STRICT, WITHOUT ROWID;
