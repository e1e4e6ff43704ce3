-- name: restorations.put_entry
INSERT INTO restoration_entries (batch_id, object_id, version, made_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
-- name: restorations.entries
SELECT object_id, version FROM restoration_entries WHERE batch_id = ?1 ORDER BY object_id LIMIT ?2
-- name: restorations.count_entries
SELECT count(*) AS entries FROM restoration_entries WHERE batch_id = ?1
-- name: restorations.drop_entry
DELETE FROM restoration_entries WHERE batch_id = ?1 AND object_id = ?2
-- name: restorations.drop_entries
DELETE FROM restoration_entries WHERE batch_id = ?1 AND object_id IN (SELECT e.object_id FROM restoration_entries e
    WHERE e.batch_id = ?1 LIMIT ?2)
-- name: restorations.drop_unused
DELETE FROM restoration_entries WHERE (batch_id, object_id) IN (SELECT e.batch_id, e.object_id
    FROM restoration_entries e
    WHERE e.made_at < ?1 AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = e.batch_id) LIMIT ?2)
-- name: restorations.objects_of_collection
SELECT id, head FROM objects WHERE collection_id = ?1 AND id > ?2 AND state = 'active' ORDER BY id LIMIT ?3
-- name: restorations.count
SELECT count(*) AS items FROM work_items WHERE batch_id = ?1 AND action <> 'restore_batch'
-- name: restorations.last_object
SELECT object_id FROM work_items WHERE batch_id = ?1 AND action <> 'restore_batch' AND object_id IS NOT NULL
ORDER BY object_id DESC LIMIT 1
-- Those that have work items, those of the list that have none yet, and those of the collection behind the last that has one, for
-- as long as work items are made of them.
-- name: restorations.amount
SELECT count(*) AS objects, CAST(coalesce(sum(part.bytes), 0) AS BIGINT) AS bytes FROM (
    SELECT w.size AS bytes FROM work_items w WHERE w.batch_id = ?1 AND w.action <> 'restore_batch'
    UNION ALL
    SELECT o.bytes FROM restoration_entries e JOIN objects o ON o.id = e.object_id WHERE e.batch_id = ?1
    UNION ALL
    SELECT o.bytes FROM work_items b {items.by_batch} JOIN objects o ON o.collection_id = b.collection_id
    WHERE b.batch_id = ?1 AND b.action = 'restore_batch' AND b.stage = 'expand' AND b.status IN ('pending', 'started')
        AND o.id > ?2 AND o.state = 'active') AS part
-- name: restorations.put_result
INSERT INTO restoration_results (item_id, place, size, sha256) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (item_id) DO UPDATE SET place = ?2, size = ?3, sha256 = ?4
-- name: restorations.open_items
SELECT count(*) AS items FROM work_items
WHERE batch_id = ?1 AND action <> 'restore_batch' AND status IN ('pending', 'started', 'held')
-- name: restorations.items_of_batch
SELECT w.id, w.object_identifier, w.status, w.note, w.options, w.updated_at, r.place, r.size, r.sha256,
    (EXISTS (SELECT 1 FROM restored s WHERE s.item_id = w.id)
        AND NOT EXISTS (SELECT 1 FROM restored s WHERE s.item_id = w.id AND s.state = 'kept')) AS was_removed
FROM work_items w LEFT JOIN restoration_results r ON r.item_id = w.id
WHERE w.batch_id = ?1 AND w.action <> 'restore_batch' AND w.id > ?2 ORDER BY w.id LIMIT ?3
-- name: restorations.result
SELECT size, sha256, place FROM restoration_results WHERE item_id = ?1
