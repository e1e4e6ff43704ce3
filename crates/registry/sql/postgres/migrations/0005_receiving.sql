-- What lies or lay in the receiving stores. A row for each name in a store: what was seen there last, and what became of it.
-- Once it was submitted its row stays.
CREATE TABLE uploads (
    id             UUID PRIMARY KEY,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    store          TEXT COLLATE "C" NOT NULL,
    -- Ends in a slash for a folder, of which all keys together are one upload. In the order of a listing.
    key            TEXT COLLATE "C" NOT NULL,
    etag           TEXT COLLATE "C" NOT NULL,
    size           BIGINT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('settling', 'not_a_bag', 'submitted', 'known', 'published', 'failed',
        'invalid', 'cancelled', 'removing', 'removed', 'withdrawn')),
    note           TEXT,
    -- The latest work item made of it.
    item_id        UUID REFERENCES work_items (id),
    first_seen_at  BIGINT NOT NULL,
    -- The first look that found it as it is.
    changed_at     BIGINT NOT NULL,
    remove_after   BIGINT,
    warned_at      BIGINT,
    UNIQUE (store, key)
);
CREATE INDEX uploads_by_state ON uploads (state, id);
CREATE INDEX uploads_by_institution ON uploads (institution_id, id);
CREATE INDEX uploads_by_item ON uploads (item_id) WHERE item_id IS NOT NULL;

-- What was submitted, for ever: nothing is taken in twice.
CREATE TABLE receipts (
    store   TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    etag    TEXT COLLATE "C" NOT NULL,
    item_id UUID NOT NULL REFERENCES work_items (id),
    made_at BIGINT NOT NULL,
    PRIMARY KEY (store, key, etag)
);

-- Where the listing of an institution's place in a store goes on. No row: at its beginning.
CREATE TABLE receiving_cursors (
    store          TEXT COLLATE "C" NOT NULL,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    -- The last key that was seen.
    after_key      TEXT COLLATE "C" NOT NULL,
    -- The last upload of which all keys were seen.
    after_upload   TEXT COLLATE "C" NOT NULL,
    -- What is known of a folder whose keys were not all seen, as JSON.
    folder         TEXT,
    looked_at      BIGINT NOT NULL,
    PRIMARY KEY (store, institution_id)
);
