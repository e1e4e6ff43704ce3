-- `is_maker`: whether an item makes the items of its batch from a list, and is no row of that itself. `is_listed`: whether reports list
-- an item: one that reads a list only where it did not come to its end. `is_changed`: whether the last report that lists an item says
-- anything else of it, or there is none.
-- list: reports.is_maker
w.action IN ('expand_batch', 'restore_batch')
-- list: reports.is_listed
(NOT ({reports.is_maker}) OR w.status IN ('failed', 'cancelled', 'held')
    OR (w.action = 'expand_batch' AND w.status IN ('pending', 'started')))
-- list: reports.is_changed
(p.kind <> 'update' OR NOT EXISTS (SELECT 1 FROM reports q JOIN report_rows r ON r.report_id = q.id
    WHERE q.batch_id = p.batch_id AND r.item_id = w.id
        AND q.number = (SELECT max(n.number) FROM reports n JOIN report_rows m ON m.report_id = n.id
            WHERE n.batch_id = p.batch_id AND n.number < p.number AND n.kind <> 'provisional' AND m.item_id = w.id)
        AND r.state = w.status AND coalesce(r.message, '') = coalesce(w.note, '')))
-- list: reports.columns
p.id, p.batch_id, b.institution_id, p.number, p.kind, p.batch_state, p.made_at, p.made_by, p.items, p.succeeded, p.failed,
    p.cancelled, p.deleted, p.held, p.at_work, p.is_filled, p.filled_to, p.completed_at,
    (SELECT count(*) FROM report_rows r WHERE r.report_id = p.id AND r.is_changed) AS changed
-- name: reports.insert
INSERT INTO reports (id, batch_id, number, kind, batch_state, made_at, made_by, items, succeeded, failed, cancelled, deleted,
    held, at_work, is_filled, numbered, completed_at)
-- The transaction of another item that ended meanwhile may have begun later than this one: the report is not true of a moment before that.
SELECT ?1, ?2, (SELECT coalesce(max(r.number), 0) + 1 FROM reports r WHERE r.batch_id = ?2),
    CASE WHEN ?3 THEN 'provisional'
        WHEN EXISTS (SELECT 1 FROM reports r WHERE r.batch_id = ?2 AND r.kind <> 'provisional') THEN 'update'
        ELSE 'final' END,
    ?4, CASE WHEN max(w.updated_at) > CAST(?5 AS BIGINT) THEN max(w.updated_at) ELSE CAST(?5 AS BIGINT) END, ?6, count(*),
    coalesce(sum(CASE WHEN w.status = 'succeeded' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.status = 'failed' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.status = 'cancelled' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.status = 'deleted' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.status = 'held' THEN 1 ELSE 0 END), 0),
    coalesce(sum(CASE WHEN w.status IN ('pending', 'started') THEN 1 ELSE 0 END), 0),
    count(*) <= ?7, 0, CASE WHEN ?8 AND count(*) <= ?7 THEN CAST(?5 AS BIGINT) END
FROM work_items w WHERE w.batch_id = ?2 AND {reports.is_listed}
RETURNING number, kind, is_filled, completed_at
-- The report is locked for the rest of the transaction.
-- name: reports.lock
UPDATE reports SET number = number WHERE id = ?1 RETURNING batch_id, is_filled, filled_to
-- name: reports.page_end
SELECT coalesce(sum(CASE WHEN {reports.is_maker} THEN 0 ELSE 1 END), 0) AS row_count
FROM (SELECT x.id, x.action FROM work_items x WHERE x.batch_id = ?1 AND x.id > ?2 ORDER BY x.id LIMIT ?3) AS w
-- name: reports.last_of_page
SELECT x.id FROM work_items x WHERE x.batch_id = ?1 AND x.id > ?2 ORDER BY x.id LIMIT 1 OFFSET ?3
-- name: reports.advance
UPDATE reports SET filled_to = ?2, numbered = numbered + ?3 WHERE id = ?1
-- name: reports.set_filled
UPDATE reports SET is_filled = TRUE WHERE id = ?1
-- name: reports.complete
UPDATE reports SET completed_at = ?2 WHERE id = ?1 AND completed_at IS NULL RETURNING number
-- name: reports.untold
SELECT id, is_filled FROM reports WHERE completed_at IS NULL AND id > ?1 ORDER BY id LIMIT ?2
-- name: reports.unfilled
SELECT id FROM reports WHERE batch_id = ?1 AND NOT is_filled ORDER BY number
-- name: reports.says
SELECT 1 AS found FROM report_rows r
WHERE r.item_id = ?2 AND r.state = ?3 AND coalesce(r.message, '') = ?4
    AND r.report_id = (SELECT p.id FROM reports p JOIN report_rows m ON m.report_id = p.id AND m.item_id = ?2
        WHERE p.batch_id = ?1 AND p.kind <> 'provisional' ORDER BY p.number DESC LIMIT 1)
-- name: reports.get
SELECT {reports.columns} FROM reports p JOIN batches b ON b.id = p.batch_id WHERE p.id = ?1
-- name: reports.last
SELECT {reports.columns} FROM reports p JOIN batches b ON b.id = p.batch_id
WHERE p.batch_id = ?1 AND p.kind <> 'provisional' ORDER BY p.number DESC LIMIT 1
-- name: reports.drop_provisional_rows
DELETE FROM report_rows WHERE report_id IN (SELECT r.id FROM reports r WHERE r.batch_id = ?1 AND r.kind = 'provisional' AND r.number < ?2)
-- name: reports.drop_provisional
DELETE FROM reports WHERE batch_id = ?1 AND kind = 'provisional' AND number < ?2
-- name: report_rows.list
SELECT r.item_id, r.row_number, r.name, r.object_identifier, r.version, r.local_ids, r.ark, r.state, r.stage, r.code, r.message,
    r.is_changed
FROM report_rows r WHERE r.report_id = ?1 AND r.item_id > ?2
    AND (NOT ?3 OR r.is_changed) AND (NOT ?4 OR r.state NOT IN ('succeeded', 'deleted'))
ORDER BY r.item_id LIMIT ?5
-- name: reports.untold_of_batch
SELECT number FROM reports WHERE batch_id = ?1 AND completed_at IS NULL ORDER BY number LIMIT ?2
