-- An upload counts as warned of only once the notice was delivered: what was put into the outbox before was read by nothing.
UPDATE uploads SET warned_at = NULL WHERE state = 'invalid';

-- What the deliverer of a kind of message reads.
CREATE INDEX outbox_undelivered ON outbox (kind, id) WHERE delivered_at IS NULL;
-- What ends after its retention, and what keeps an ended work item.
CREATE INDEX receipts_by_time ON receipts (made_at);
CREATE INDEX receipts_by_item ON receipts (item_id);

-- Later deposits of an object: whether one put right what an earlier one failed at.
CREATE INDEX work_items_by_identifier ON work_items (institution_id, object_identifier, id);

-- An upload whose collection takes no deposits is refused.
CREATE TABLE uploads_with_refused (
    id             BLOB PRIMARY KEY,
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    store          TEXT NOT NULL,
    -- Ends in a slash for a folder, of which all keys together are one upload. In the order of a listing.
    key            TEXT NOT NULL,
    etag           TEXT NOT NULL,
    size           INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('settling', 'not_a_bag', 'refused', 'submitted', 'known', 'published',
        'failed', 'invalid', 'cancelled', 'removing', 'removed', 'withdrawn')),
    note           TEXT,
    -- The latest work item made of it.
    item_id        BLOB REFERENCES work_items (id),
    first_seen_at  INTEGER NOT NULL,
    -- The first look that found it as it is.
    changed_at     INTEGER NOT NULL,
    -- Not removed before; for what is published and not whole, not looked at again before.
    remove_after   INTEGER,
    -- When the notice of the removal was delivered.
    warned_at      INTEGER,
    UNIQUE (store, key)
) STRICT, WITHOUT ROWID;
INSERT INTO uploads_with_refused SELECT id, institution_id, store, key, etag, size, state, note, item_id, first_seen_at,
    changed_at, remove_after, warned_at FROM uploads;
DROP TABLE uploads;
ALTER TABLE uploads_with_refused RENAME TO uploads;
CREATE INDEX uploads_by_state ON uploads (state, id);
CREATE INDEX uploads_by_institution ON uploads (institution_id, id);
CREATE INDEX uploads_by_item ON uploads (item_id) WHERE item_id IS NOT NULL;
