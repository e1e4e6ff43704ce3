-- Batches of restorations. The objects of a batch that have no work items yet: those of a list, put here before there is a
-- batch, so that one that is cut short has none. Rows go as work items are made of them.
CREATE TABLE restoration_entries (
    -- Not a reference: the batch is made when the list is whole.
    batch_id   BLOB NOT NULL,
    object_id  BLOB NOT NULL REFERENCES objects (id),
    version    INTEGER NOT NULL,
    made_at    INTEGER NOT NULL,
    PRIMARY KEY (batch_id, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX restoration_entries_by_time ON restoration_entries (made_at);

-- Where the result of a restoration was put, and how to verify it: what the receipt of a batch says of it.
CREATE TABLE restoration_results (
    item_id    BLOB PRIMARY KEY REFERENCES work_items (id),
    place      TEXT NOT NULL,
    size       INTEGER NOT NULL,
    -- In hexadecimal.
    sha256     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The objects of a collection are read page by page.
CREATE INDEX objects_by_collection ON objects (collection_id, id);
