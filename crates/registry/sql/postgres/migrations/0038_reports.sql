-- Reports of batches: what a batch had come to at one moment. Rows have all that a report says, so that it stays true when items change.
CREATE TABLE reports (
    id            UUID PRIMARY KEY,
    batch_id      UUID    NOT NULL REFERENCES batches (id),
    -- From 1 in each batch.
    number        BIGINT NOT NULL,
    kind          TEXT    NOT NULL CHECK (kind IN ('final', 'update', 'provisional')),
    batch_state   TEXT    NOT NULL,
    made_at       BIGINT NOT NULL,
    -- Who asked for it; none for one that was made because the batch ended.
    made_by       TEXT,
    items         BIGINT NOT NULL,
    succeeded     BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    cancelled     BIGINT NOT NULL,
    deleted       BIGINT NOT NULL,
    held          BIGINT NOT NULL,
    at_work       BIGINT NOT NULL,
    -- How far its rows are written.
    is_filled     BOOLEAN NOT NULL,
    filled_to     UUID,
    numbered      BIGINT NOT NULL,
    -- When its messages were put into the outbox, or it was certain that there are none.
    completed_at  BIGINT,
    UNIQUE (batch_id, number)
);
CREATE INDEX reports_unfilled ON reports (batch_id) WHERE NOT is_filled;
CREATE INDEX reports_untold ON reports (id) WHERE completed_at IS NULL;
CREATE TABLE report_rows (
    report_id         UUID    NOT NULL REFERENCES reports (id),
    item_id           UUID    NOT NULL,
    -- The place of the item among those of the batch, from 1; none for the item that reads a manifest.
    row_number        BIGINT,
    name              TEXT    NOT NULL,
    object_identifier TEXT    NOT NULL,
    version           BIGINT,
    -- A JSON list.
    local_ids         TEXT,
    ark               TEXT,
    state             TEXT    NOT NULL,
    stage             TEXT    NOT NULL,
    code              TEXT,
    message           TEXT,
    -- Whether the item was in another state in the last report before, or in none.
    is_changed        BOOLEAN NOT NULL,
    PRIMARY KEY (report_id, item_id)
);
-- Who hears of the batches of a collection.
CREATE TABLE collection_notifications (
    collection_id UUID PRIMARY KEY REFERENCES collections (id),
    -- Addresses of mails, a JSON list.
    addresses     TEXT NOT NULL,
    -- Kinds of mails that are not sent, a JSON list.
    suppressed    TEXT NOT NULL,
    callback_url  TEXT
);
