-- Whether the item ended because of what was read in its package itself. What a receiving store holds is removed as invalid
-- only then. `staging_losses`: how often what was staged for it was lost since a person last asked for it.
ALTER TABLE work_items ADD COLUMN is_verdict INTEGER NOT NULL DEFAULT 0;
ALTER TABLE work_items ADD COLUMN staging_losses INTEGER NOT NULL DEFAULT 0;
UPDATE work_items SET is_verdict = 1 WHERE status = 'failed' AND action = 'ingest' AND EXISTS
    (SELECT 1 FROM item_problems p WHERE p.item_id = work_items.id AND p.severity = 'error');

-- The stores that a version which is not published may have been written to, whatever the settings say since.
CREATE TABLE version_stores (
    version_id BLOB NOT NULL,
    store      TEXT NOT NULL,
    PRIMARY KEY (version_id, store)
) STRICT, WITHOUT ROWID;
