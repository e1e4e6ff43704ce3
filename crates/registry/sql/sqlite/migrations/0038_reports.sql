-- Reports of batches: what a batch had come to at one moment. Rows have all that a report says, so that it stays true when items change.
CREATE TABLE reports (
    id            BLOB PRIMARY KEY,
    batch_id      BLOB    NOT NULL REFERENCES batches (id),
    -- From 1 in each batch.
    number        INTEGER NOT NULL,
    kind          TEXT    NOT NULL CHECK (kind IN ('final', 'update', 'provisional')),
    batch_state   TEXT    NOT NULL,
    made_at       INTEGER NOT NULL,
    -- Who asked for it; none for one that was made because the batch ended.
    made_by       TEXT,
    items         INTEGER NOT NULL,
    succeeded     INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    cancelled     INTEGER NOT NULL,
    deleted       INTEGER NOT NULL,
    held          INTEGER NOT NULL,
    at_work       INTEGER NOT NULL,
    -- How far its rows are written.
    is_filled     INTEGER NOT NULL,
    filled_to     BLOB,
    numbered      INTEGER NOT NULL,
    -- When its messages were put into the outbox, or it was certain that there are none.
    completed_at  INTEGER,
    UNIQUE (batch_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_unfilled ON reports (batch_id) WHERE NOT is_filled;
CREATE INDEX reports_untold ON reports (id) WHERE completed_at IS NULL;
CREATE TABLE report_rows (
    report_id         BLOB    NOT NULL REFERENCES reports (id),
    item_id           BLOB    NOT NULL,
    -- The place of the item among those of the batch, from 1; none for the item that reads a manifest.
    row_number        INTEGER,
    name              TEXT    NOT NULL,
    object_identifier TEXT    NOT NULL,
    version           INTEGER,
    -- A JSON list.
    local_ids         TEXT,
    ark               TEXT,
    state             TEXT    NOT NULL,
    stage             TEXT    NOT NULL,
    code              TEXT,
    message           TEXT,
    -- Whether the item was in another state in the last report before, or in none.
    is_changed        INTEGER NOT NULL,
    PRIMARY KEY (report_id, item_id)
) STRICT, WITHOUT ROWID;
-- Who hears of the batches of a collection.
CREATE TABLE collection_notifications (
    collection_id BLOB PRIMARY KEY REFERENCES collections (id),
    -- Addresses of mails, a JSON list.
    addresses     TEXT NOT NULL,
    -- Kinds of mails that are not sent, a JSON list.
    suppressed    TEXT NOT NULL,
    callback_url  TEXT
) STRICT, WITHOUT ROWID;
