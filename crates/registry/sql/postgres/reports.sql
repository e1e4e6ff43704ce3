-- `says`: what a report says of an item, but for its number. `page`: the next items of a batch, with their places among them.
-- `insert` lists them in a report: of an update those that changed and those that are unresolved. A row keeps the number that the final report
-- gave it.
-- name: reports.list
SELECT {reports.columns} FROM reports p JOIN batches b ON b.id = p.batch_id
WHERE p.batch_id = $1 AND ($2::uuid IS NULL OR b.institution_id = $2) AND p.number > $3
    -- One that is not whole is being written, or another took its place.
    AND (p.kind <> 'provisional' OR p.is_filled)
ORDER BY p.number LIMIT $4
-- list: report_rows.says
w.id AS item_id, w.name, w.object_identifier, CASE WHEN 'succeeded' IN (w.status, w.deleted_from) THEN w.version END AS version,
    CAST(w.options AS JSONB) ->> 'local_ids' AS local_ids,
    coalesce(o.ark, CAST(w.options AS JSONB) ->> 'ark') AS ark,
    w.status AS state, w.stage,
    CASE WHEN w.status = 'failed' THEN (SELECT m.code FROM item_problems m
        WHERE m.item_id = w.id AND m.severity = 'error' ORDER BY m.number LIMIT 1) END AS code,
    w.note AS message
-- list: report_rows.page
(SELECT x.id, sum(CASE WHEN x.action IN ('expand_batch', 'restore_batch') THEN 0 ELSE 1 END) OVER (ORDER BY x.id) AS place
    FROM (SELECT i.id, i.action FROM work_items i WHERE i.batch_id = $2 AND i.id > $3 ORDER BY i.id LIMIT $4) AS x) AS page
JOIN work_items w ON w.id = page.id
LEFT JOIN objects o ON o.id = w.object_id
-- name: report_rows.insert
INSERT INTO report_rows (report_id, row_number, item_id, name, object_identifier, version, local_ids, ark, state, stage, code,
    message, is_changed)
SELECT p.id, coalesce(f.row_number, CASE WHEN {reports.is_maker} THEN NULL ELSE p.numbered + page.place END),
    {report_rows.says}, {reports.is_changed}
FROM {report_rows.page}
JOIN reports p ON p.id = $1
LEFT JOIN reports e ON e.batch_id = p.batch_id AND e.kind = 'final' AND e.id <> p.id
LEFT JOIN report_rows f ON f.report_id = e.id AND f.item_id = w.id
WHERE {reports.is_listed} AND (p.kind <> 'update' OR w.status NOT IN ('succeeded', 'deleted') OR {reports.is_changed})
ON CONFLICT (report_id, item_id) DO NOTHING
-- What a provisional report says of the next items of a batch, behind so many numbered ones.
-- name: report_rows.now
SELECT coalesce(f.row_number, CASE WHEN {reports.is_maker} THEN NULL ELSE CAST($1 AS BIGINT) + page.place END) AS row_number,
    {report_rows.says}, TRUE AS is_changed
FROM {report_rows.page}
LEFT JOIN reports e ON e.batch_id = w.batch_id AND e.kind = 'final'
LEFT JOIN report_rows f ON f.report_id = e.id AND f.item_id = w.id
WHERE {reports.is_listed}
ORDER BY w.id
