-- Which stages an action has, and on which topics, is for its workflow to say: a work item carries what follows from it.
-- `topic`: the topic whose tasks are its stage. `wait_key`: what wakes it where it waits at that stage; items that were open
-- before have none until their next stage, and look again when their time comes. `wait_until`: until when it waits.
-- `is_committed`: from there it goes only forward.
ALTER TABLE work_items ADD COLUMN topic TEXT NOT NULL DEFAULT '';
ALTER TABLE work_items ADD COLUMN wait_key TEXT;
ALTER TABLE work_items ADD COLUMN wait_until INTEGER;
ALTER TABLE work_items ADD COLUMN is_committed INTEGER NOT NULL DEFAULT 0;
UPDATE work_items SET topic = CASE action WHEN 'ingest' THEN 'ingest.' || stage ELSE 'restoration.' || stage END;
UPDATE work_items SET is_committed = 1 WHERE EXISTS
    (SELECT 1 FROM versions v WHERE v.item_id = work_items.id AND v.state IN ('committing', 'published'));
UPDATE task SET item_id = unhex(replace(key, '-', ''))
WHERE topic LIKE 'restoration.%' OR (topic LIKE 'ingest.%' AND topic <> 'ingest.sweep');

CREATE INDEX work_items_by_wait_key ON work_items (wait_key, id) WHERE status IN ('pending', 'started');
