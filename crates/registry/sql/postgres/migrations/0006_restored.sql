-- What restorations have put into the restoration store. A row for each key that a work item has put or is about to put.
CREATE TABLE restored (
    item_id        UUID NOT NULL REFERENCES work_items (id),
    store          TEXT COLLATE "C" NOT NULL,
    key            TEXT COLLATE "C" NOT NULL,
    institution_id UUID NOT NULL REFERENCES institutions (id),
    state          TEXT NOT NULL CHECK (state IN ('putting', 'kept', 'replaced', 'removing', 'removed', 'changed')),
    -- As it was put; none before that.
    etag           TEXT COLLATE "C",
    size           BIGINT,
    changed_at     BIGINT NOT NULL,
    -- When it is removed; none: it stays.
    expires_at     BIGINT,
    PRIMARY KEY (item_id, store, key)
);
CREATE INDEX restored_by_place ON restored (store, key);
CREATE INDEX restored_by_expiry ON restored (expires_at) WHERE state IN ('kept', 'removing');
CREATE INDEX restored_unfinished ON restored (item_id) WHERE state = 'putting';
