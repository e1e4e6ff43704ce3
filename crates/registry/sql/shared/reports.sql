-- `is_maker`: whether an item makes the items of its batch from a list, and is no row of that itself. `is_listed`: whether reports list
-- an item: one that reads a list only where it did not come to its end. `is_changed`: whether the last report that lists an item says
-- anything else of it, or there is none. `counts`: how many items a report has, and of which states.
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
-- list: reports.counts
count(*) AS items,
    coalesce(sum(CASE WHEN w.status = 'succeeded' THEN 1 ELSE 0 END), 0) AS succeeded,
    coalesce(sum(CASE WHEN w.status = 'failed' THEN 1 ELSE 0 END), 0) AS failed,
    coalesce(sum(CASE WHEN w.status = 'cancelled' THEN 1 ELSE 0 END), 0) AS cancelled,
    coalesce(sum(CASE WHEN w.status = 'deleted' THEN 1 ELSE 0 END), 0) AS deleted,
    coalesce(sum(CASE WHEN w.status = 'held' THEN 1 ELSE 0 END), 0) AS held,
    coalesce(sum(CASE WHEN w.status IN ('pending', 'started') THEN 1 ELSE 0 END), 0) AS at_work
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
    ?4, CASE WHEN max(w.updated_at) > CAST(?5 AS BIGINT) THEN max(w.updated_at) ELSE CAST(?5 AS BIGINT) END, ?6, {reports.counts},
    count(*) <= ?7, 0, CASE WHEN ?8 AND count(*) <= ?7 THEN CAST(?5 AS BIGINT) END
FROM work_items w WHERE w.batch_id = ?2 AND {reports.is_listed}
RETURNING number, kind, is_filled, completed_at
-- What is true of a batch now.
-- name: reports.count_now
SELECT coalesce(max(w.updated_at), 0) AS last_change, {reports.counts}
FROM work_items w WHERE w.batch_id = ?1 AND {reports.is_listed}
-- A provisional report that is not whole, with counts that were taken before.
-- name: reports.insert_counted
INSERT INTO reports (id, batch_id, number, kind, batch_state, made_at, made_by, items, succeeded, failed, cancelled, deleted,
    held, at_work, is_filled, numbered)
VALUES (?1, ?2, (SELECT coalesce(max(r.number), 0) + 1 FROM reports r WHERE r.batch_id = ?2), 'provisional', ?3, ?4, ?5, ?6, ?7, ?8,
    ?9, ?10, ?11, ?12, FALSE, 0)
-- Whether a report that is made now says anything of a page of items that the last one does not.
-- name: reports.changed_in_page
SELECT 1 AS found
FROM (SELECT i.id FROM work_items i WHERE i.batch_id = ?1 AND i.id > ?2 ORDER BY i.id LIMIT ?3) AS page
JOIN work_items w ON w.id = page.id
JOIN (SELECT b.id AS batch_id, CAST(9223372036854775807 AS BIGINT) AS number, 'update' AS kind FROM batches b) AS p
    ON p.batch_id = w.batch_id
WHERE {reports.is_listed} AND {reports.is_changed} LIMIT 1
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
SELECT id, is_filled FROM reports WHERE completed_at IS NULL AND kind <> 'provisional' AND id > ?1 ORDER BY id LIMIT ?2
-- name: reports.unfilled
SELECT id FROM reports WHERE batch_id = ?1 AND NOT is_filled AND kind <> 'provisional' ORDER BY number
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
-- Provisional reports whose place another one takes: they are not whole from here on, and are removed page by page.
-- name: reports.abandon_provisional
UPDATE reports SET is_filled = FALSE, completed_at = NULL WHERE batch_id = ?1 AND kind = 'provisional' AND number < ?2
-- Those, and others that nobody goes on writing.
-- name: reports.abandoned
SELECT id FROM reports WHERE completed_at IS NULL AND kind = 'provisional' AND NOT is_filled
    AND (made_at < ?1 OR EXISTS (SELECT 1 FROM reports n
        WHERE n.batch_id = reports.batch_id AND n.kind = 'provisional' AND n.is_filled AND n.number > reports.number))
ORDER BY id LIMIT 1
-- name: report_rows.drop
DELETE FROM report_rows WHERE (report_id, item_id) IN (SELECT r.report_id, r.item_id FROM report_rows r WHERE r.report_id = ?1 LIMIT ?2)
-- name: reports.drop
DELETE FROM reports WHERE id = ?1
-- Lists the next items of the batch in a report: of an update those that changed and those that are unresolved. A row keeps the number that the
-- final report gave it.
-- name: report_rows.insert
INSERT INTO report_rows (report_id, row_number, item_id, name, object_identifier, version, local_ids, ark, state, stage, code,
    message, is_changed)
SELECT p.id, coalesce(f.row_number, CASE WHEN {reports.is_maker} THEN NULL ELSE p.numbered + page.place END),
    {report_rows.says}, {reports.is_changed}
FROM (SELECT x.id, sum(CASE WHEN x.action IN ('expand_batch', 'restore_batch') THEN 0 ELSE 1 END) OVER (ORDER BY x.id) AS place
    FROM (SELECT i.id, i.action FROM work_items i WHERE i.batch_id = ?2 AND i.id > ?3 ORDER BY i.id LIMIT ?4) AS x) AS page
JOIN work_items w ON w.id = page.id
LEFT JOIN objects o ON o.id = w.object_id
JOIN reports p ON p.id = ?1
LEFT JOIN reports e ON e.batch_id = p.batch_id AND e.kind = 'final' AND e.id <> p.id
LEFT JOIN report_rows f ON f.report_id = e.id AND f.item_id = w.id
WHERE {reports.is_listed} AND (p.kind <> 'update' OR w.status NOT IN ('succeeded', 'deleted') OR {reports.is_changed})
ON CONFLICT (report_id, item_id) DO NOTHING
-- What a provisional report says of the next items of a batch, behind so many numbered ones.
-- name: report_rows.now
SELECT coalesce(f.row_number, CASE WHEN {reports.is_maker} THEN NULL ELSE CAST(?1 AS BIGINT) + page.place END) AS row_number,
    {report_rows.says}, TRUE AS is_changed
FROM (SELECT x.id, sum(CASE WHEN x.action IN ('expand_batch', 'restore_batch') THEN 0 ELSE 1 END) OVER (ORDER BY x.id) AS place
    FROM (SELECT i.id, i.action FROM work_items i WHERE i.batch_id = ?2 AND i.id > ?3 ORDER BY i.id LIMIT ?4) AS x) AS page
JOIN work_items w ON w.id = page.id
LEFT JOIN objects o ON o.id = w.object_id
LEFT JOIN reports e ON e.batch_id = w.batch_id AND e.kind = 'final'
LEFT JOIN report_rows f ON f.report_id = e.id AND f.item_id = w.id
WHERE {reports.is_listed}
ORDER BY w.id
-- name: report_rows.put
INSERT INTO report_rows (report_id, row_number, item_id, name, object_identifier, version, local_ids, ark, state, stage, code,
    message, is_changed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (report_id, item_id) DO NOTHING
-- name: report_rows.list
SELECT r.item_id, r.row_number, r.name, r.object_identifier, r.version, r.local_ids, r.ark, r.state, r.stage, r.code, r.message,
    r.is_changed
FROM report_rows r WHERE r.report_id = ?1 AND r.item_id > ?2
    AND (NOT ?3 OR r.is_changed) AND (NOT ?4 OR r.state NOT IN ('succeeded', 'deleted'))
ORDER BY r.item_id LIMIT ?5
-- name: reports.untold_of_batch
SELECT number FROM reports WHERE batch_id = ?1 AND completed_at IS NULL AND kind <> 'provisional' ORDER BY number LIMIT ?2
