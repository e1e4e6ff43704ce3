-- Holds: what a person keeps from going on. A collection, a batch and an item each have at most one of their own.
CREATE TABLE holds (
    subject_id     UUID    PRIMARY KEY,
    kind           TEXT    NOT NULL CHECK (kind IN ('collection', 'batch', 'item')),
    institution_id UUID    NOT NULL REFERENCES institutions (id),
    placed_by      TEXT    NOT NULL,
    reason         TEXT,
    placed_at      BIGINT NOT NULL
);
CREATE INDEX holds_by_kind ON holds (kind, placed_at);

INSERT INTO holds (subject_id, kind, institution_id, placed_by, placed_at)
SELECT id, 'collection', institution_id, 'an earlier version', updated_at FROM collections WHERE held;
-- An item that no person held by itself is held by its collection.
INSERT INTO holds (subject_id, kind, institution_id, placed_by, reason, placed_at)
SELECT w.id, 'item', w.institution_id,
    coalesce(w.requested_by,
        (SELECT h.actor FROM item_history h WHERE h.item_id = w.id AND h.status = 'held' ORDER BY h.number DESC LIMIT 1),
        'an earlier version'),
    CASE WHEN w.status <> 'held' OR w.note LIKE 'held by %' THEN NULL ELSE w.note END, w.updated_at
FROM work_items w
WHERE (w.status = 'held' AND (w.note LIKE 'held by %'
        OR NOT EXISTS (SELECT 1 FROM collections c WHERE c.id = w.collection_id AND c.held)))
    OR (w.status IN ('pending', 'started') AND w.cancel_requested = 'held');
UPDATE work_items SET cancel_requested = NULL, requested_by = NULL WHERE cancel_requested = 'held';
ALTER TABLE collections DROP COLUMN held;

-- How often a person had it worked on again; which status it had when it was deleted; of an item that makes the items of the rows
-- of a list, whether all are made.
ALTER TABLE work_items ADD COLUMN requeues BIGINT NOT NULL DEFAULT 0;
ALTER TABLE work_items ADD COLUMN deleted_from TEXT;
ALTER TABLE work_items ADD COLUMN list_state TEXT CHECK (list_state IN ('open', 'made'));
UPDATE work_items SET deleted_from = (SELECT h.status FROM item_history h
    WHERE h.item_id = work_items.id AND h.status <> 'deleted' ORDER BY h.number DESC LIMIT 1)
WHERE status = 'deleted';
UPDATE work_items SET list_state = CASE WHEN stage = 'expand' AND status <> 'succeeded' THEN 'open' ELSE 'made' END
WHERE action IN ('expand_batch', 'restore_batch');
CREATE INDEX work_items_open_lists ON work_items (batch_id) WHERE list_state = 'open';

-- How many items the rows of a batch became; none while not all are made.
ALTER TABLE batches ADD COLUMN row_count BIGINT;
UPDATE batches SET row_count = (SELECT count(*) FROM work_items w WHERE w.batch_id = batches.id AND w.list_state IS NULL)
WHERE NOT EXISTS (SELECT 1 FROM work_items w WHERE w.batch_id = batches.id AND w.list_state = 'open');
UPDATE batches SET state = 'pending' WHERE row_count IS NULL AND state = 'processing';
