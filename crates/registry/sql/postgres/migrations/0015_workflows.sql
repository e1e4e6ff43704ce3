-- Which stages an action has, and on which topics, is for its workflow to say: a work item carries what follows from it.
-- `topic`: the topic whose tasks are its stage. `wait_key`: what wakes it where it waits at that stage; items that were open
-- before have none until their next stage, and look again when their time comes. `wait_until`: until when it waits.
-- `is_committed`: from there it goes only forward.
ALTER TABLE work_items ADD COLUMN topic TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE work_items ADD COLUMN wait_key TEXT COLLATE "C";
ALTER TABLE work_items ADD COLUMN wait_until BIGINT;
ALTER TABLE work_items ADD COLUMN is_committed BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE work_items SET topic = CASE action WHEN 'ingest' THEN 'ingest.' || stage ELSE 'restoration.' || stage END;
UPDATE work_items SET is_committed = TRUE WHERE EXISTS
    (SELECT 1 FROM versions v WHERE v.item_id = work_items.id AND v.state IN ('committing', 'published'));
UPDATE task SET item_id = CASE WHEN key ~ '^[0-9a-f-]{36}$' THEN key::uuid END
WHERE topic LIKE 'restoration.%' OR (topic LIKE 'ingest.%' AND topic <> 'ingest.sweep');

CREATE INDEX work_items_by_wait_key ON work_items (wait_key, id) WHERE status IN ('pending', 'started');
