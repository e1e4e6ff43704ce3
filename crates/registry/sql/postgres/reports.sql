-- name: reports.list
SELECT {reports.columns} FROM reports p JOIN batches b ON b.id = p.batch_id
WHERE p.batch_id = $1 AND ($2::uuid IS NULL OR b.institution_id = $2) AND p.number > $3
    -- One that is not whole is being written, or another took its place.
    AND (p.kind <> 'provisional' OR p.is_filled)
ORDER BY p.number LIMIT $4
-- What a report says of an item, but for its number.
-- list: report_rows.says
w.id AS item_id, w.name, w.object_identifier, CASE WHEN 'succeeded' IN (w.status, w.deleted_from) THEN w.version END AS version,
    CAST(w.options AS JSONB) ->> 'local_ids' AS local_ids,
    coalesce(o.ark, CAST(w.options AS JSONB) ->> 'ark') AS ark,
    w.status AS state, w.stage,
    CASE WHEN w.status = 'failed' THEN (SELECT m.code FROM item_problems m
        WHERE m.item_id = w.id AND m.severity = 'error' ORDER BY m.number LIMIT 1) END AS code,
    w.note AS message
