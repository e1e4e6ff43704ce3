-- Work items in the order of their submission, whatever the clocks of the machines say: a number that is given in the
-- transaction that makes the item. Those of before keep the order of their identifiers.
ALTER TABLE work_items ADD COLUMN number BIGINT;
UPDATE work_items SET number = ordered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM work_items) AS ordered WHERE ordered.id = work_items.id;
ALTER TABLE work_items ALTER COLUMN number SET NOT NULL;
CREATE UNIQUE INDEX work_items_by_number ON work_items (number);
CREATE SEQUENCE work_item_number;
SELECT setval('work_item_number', coalesce(max(number), 0) + 1, false) FROM work_items;

DROP INDEX work_items_open;
CREATE INDEX work_items_open ON work_items (institution_id, object_identifier, number)
    WHERE status IN ('pending', 'started', 'held');
DROP INDEX work_items_by_identifier;
CREATE INDEX work_items_by_identifier ON work_items (institution_id, object_identifier, number);
DROP INDEX work_items_by_wait_key;
CREATE INDEX work_items_by_wait_key ON work_items (wait_key, number) WHERE status IN ('pending', 'started');

-- The version of the schema that the journal tells of, where the registry is in use: the line about a migration is added with
-- this fact, by the migrating program or, where that was killed, by the next that opens the registry.
INSERT INTO registry_facts (name, value) SELECT 'journal.schema', CAST(max(version) AS TEXT) FROM schema_version
WHERE EXISTS (SELECT 1 FROM institutions) HAVING max(version) IS NOT NULL;
