-- Which activity made a work item. Of those that were made before this, it is known where the list of the last run of the activity is kept.
ALTER TABLE work_items ADD COLUMN activity_id UUID;
UPDATE work_items SET activity_id = made.activity_id
FROM (
    SELECT a.id AS activity_id,
        CASE WHEN s.result ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN s.result::uuid END AS item_id
    FROM activities a JOIN record_states s ON s.list_id = a.list_id
    WHERE a.agent = 'deposit' AND s.state = 2
) AS made
WHERE work_items.id = made.item_id;
CREATE INDEX work_items_by_activity ON work_items (activity_id, id) WHERE activity_id IS NOT NULL;
