-- name: retention.old_items
SELECT w.id FROM work_items w
WHERE w.id > ?1 AND w.created_at < ?2 AND w.status NOT IN ('pending', 'started', 'held')
ORDER BY w.id LIMIT ?3
-- name: retention.drop_history
DELETE FROM item_history WHERE item_id = ?1 AND time < ?2
    AND number < (SELECT max(l.number) FROM item_history l WHERE l.item_id = ?1)
-- name: retention.drop_outbox
DELETE FROM outbox WHERE id IN (SELECT id FROM outbox
    WHERE created_at < ?1 AND (delivered_at IS NOT NULL
        OR (kind <> 'upload_expires' AND kind <> 'ezid' AND kind <> 'mail' AND kind <> 'callback'))
    AND coalesce(delivered_at, created_at) < ?1
    -- An item that waits for a delivery has to find it.
    AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.id = outbox.item_id AND w.status IN ('pending', 'started', 'held'))
    ORDER BY created_at LIMIT ?2)
-- name: retention.drop_receipts
DELETE FROM receipts WHERE (store, key, etag) IN (SELECT r.store, r.key, r.etag FROM receipts r
    JOIN work_items w ON w.id = r.item_id
    WHERE r.made_at < ?1 AND w.status NOT IN ('pending', 'started', 'held') LIMIT ?2)
-- name: retention.ended_items
SELECT w.id, w.batch_id FROM work_items w
WHERE w.id > ?2 AND w.updated_at < ?1 AND w.status IN ('succeeded', 'cancelled', 'deleted', 'failed') AND w.needs_review = ?3
    AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.item_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.item_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM restored s WHERE s.item_id = w.id AND s.state <> 'removed')
    AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.item_id = w.id AND (v.state IN ('preparing', 'committing', 'dropping')
        OR (v.state = 'dropped' AND v.swept_at IS NULL)))
    AND NOT EXISTS (SELECT 1 FROM interim_files f WHERE f.item_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM interim_facts f WHERE f.item_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM reservations f WHERE f.item_id = w.id)
    -- A report that is being made lists all items of its batch, and is told.
    AND NOT EXISTS (SELECT 1 FROM reports r WHERE r.batch_id = w.batch_id AND r.completed_at IS NULL)
    -- The items of a batch go together: its state and its reports follow from all of them.
    AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = w.batch_id
        AND (b.state IN ('pending', 'processing', 'held') OR b.updated_at >= ?1 OR (b.state = 'deleted'
            AND EXISTS (SELECT 1 FROM work_items x WHERE x.batch_id = b.id AND x.status IN ('pending', 'started', 'held')))))
    AND NOT EXISTS (SELECT 1 FROM work_items x WHERE x.batch_id = w.batch_id AND x.needs_review)
    -- The receipt of a batch of restorations tells of all of its items.
    AND NOT EXISTS (SELECT 1 FROM work_items r {items.by_batch} WHERE r.batch_id = w.batch_id AND r.action = 'restore_batch'
        AND r.status IN ('pending', 'started', 'held', 'failed'))
ORDER BY w.id LIMIT ?4
-- name: retention.drop_item_history
DELETE FROM item_history WHERE item_id = ?1
-- name: retention.drop_item_parts
DELETE FROM item_parts WHERE item_id = ?1
-- name: retention.drop_item_restored
DELETE FROM restored WHERE item_id = ?1
-- name: retention.drop_item_result
DELETE FROM restoration_results WHERE item_id = ?1
-- name: retention.drop_item
DELETE FROM work_items WHERE id = ?1
-- name: retention.drop_report_rows
DELETE FROM report_rows WHERE report_id IN (SELECT r.id FROM reports r WHERE r.batch_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.batch_id = ?1)
-- name: retention.drop_reports
DELETE FROM reports WHERE batch_id = ?1 AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.batch_id = ?1)
-- name: retention.drop_batch
DELETE FROM batches WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.batch_id = ?1)
-- name: sizes.work_items
SELECT count(*) AS row_count FROM work_items
-- name: sizes.item_history
SELECT count(*) AS row_count FROM item_history
-- name: sizes.events
SELECT count(*) AS row_count FROM events
-- name: sizes.outbox
SELECT count(*) AS row_count FROM outbox
-- name: sizes.receipts
SELECT count(*) AS row_count FROM receipts
-- name: sizes.uploads
SELECT count(*) AS row_count FROM uploads
-- name: sizes.report_rows
SELECT count(*) AS row_count FROM report_rows
-- name: sizes.journal
SELECT count(*) AS row_count FROM journal
-- name: sizes.work_items_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM work_items LIMIT ?1) AS counted
-- name: sizes.item_history_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM item_history LIMIT ?1) AS counted
-- name: sizes.events_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM events LIMIT ?1) AS counted
-- name: sizes.outbox_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM outbox LIMIT ?1) AS counted
-- name: sizes.receipts_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM receipts LIMIT ?1) AS counted
-- name: sizes.uploads_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM uploads LIMIT ?1) AS counted
-- name: sizes.report_rows_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM report_rows LIMIT ?1) AS counted
-- name: sizes.journal_up_to
SELECT count(*) AS row_count FROM (SELECT 1 AS one FROM journal LIMIT ?1) AS counted
