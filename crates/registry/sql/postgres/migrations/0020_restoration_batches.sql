-- Batches of restorations. The objects of a batch that have no work items yet: those of a list, put here before there is a
-- batch, so that one that is cut short has none. Rows go as work items are made of them.
CREATE TABLE restoration_entries (
    -- Not a reference: the batch is made when the list is whole.
    batch_id   UUID NOT NULL,
    object_id  UUID NOT NULL REFERENCES objects (id),
    version    BIGINT NOT NULL,
    made_at    BIGINT NOT NULL,
    PRIMARY KEY (batch_id, object_id)
);
CREATE INDEX restoration_entries_by_time ON restoration_entries (made_at);

-- Where the result of a restoration was put, and how to verify it: what the receipt of a batch says of it.
CREATE TABLE restoration_results (
    item_id    UUID PRIMARY KEY REFERENCES work_items (id),
    place      TEXT NOT NULL,
    size       BIGINT NOT NULL,
    -- In hexadecimal.
    sha256     TEXT NOT NULL
);

-- The objects of a collection are read page by page.
CREATE INDEX objects_by_collection ON objects (collection_id, id);

-- The items of a batch are read page by page. The tables of SQLite have the primary key in every index.
DROP INDEX work_items_by_batch;
CREATE INDEX work_items_by_batch ON work_items (batch_id, id);
