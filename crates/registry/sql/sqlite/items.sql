-- By which index items are found, where SQLite, which does not know how many rows are alike, takes another one. Open items of a name in an institution.
-- list: items.by_open_name
INDEXED BY work_items_open
-- list: items.by_batch
INDEXED BY work_items_by_batch
-- name: items.insert
INSERT INTO work_items (id, batch_id, institution_id, collection_id, action, object_id, object_identifier, file_id, name,
    source, size, options, stage, status, priority, note, created_at, updated_at, topic, wait_key, actor_id, list_state,
    activity_id, number)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
    CASE WHEN EXISTS (SELECT 1 FROM holds WHERE subject_id IN (?2, ?4)) THEN 'held' ELSE 'pending' END,
    ?14, ?15, ?16, ?16, ?17, ?18, ?19, ?20, ?21,
    (SELECT coalesce(max(number), 0) + 1 FROM work_items))
ON CONFLICT (id) DO NOTHING
RETURNING id, status
-- name: items.get
SELECT {items.columns}
FROM {items.tables}
WHERE w.id = ?1 AND (?2 IS NULL OR w.institution_id = ?2)
-- list: items.found_claimed
SELECT {items.columns},
    EXISTS (SELECT 1 FROM object_leases l WHERE l.owner = w.id AND l.lease_until > 0) AS holds_object,
    coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') AS replacements,
    (SELECT coalesce(max(version), 0) FROM schema_version) AS schema_version
FROM {items.tables}
WHERE w.id = ?1 AND w.fence = ?2 AND w.status = 'started'
-- name: items.claimed
{items.found_claimed}
-- No other transaction writes at the same time.
-- name: items.claimed_if_free
{items.found_claimed}
-- name: items.to_take_up
SELECT {items.columns},
    EXISTS (SELECT 1 FROM object_leases l WHERE l.owner = w.id AND l.lease_until > 0) AS holds_object,
    coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') AS replacements
FROM {items.tables}
WHERE w.id = ?1
-- name: items.may_write
SELECT 1 AS found FROM work_items WHERE id = ?1 AND fence = ?2 AND status = 'started'
    AND coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') = ?3
-- name: items.may_write_version
SELECT v.state FROM work_items w LEFT JOIN versions v ON v.id = ?4
WHERE w.id = ?1 AND w.fence = ?2 AND w.status = 'started'
    AND coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') = ?3
-- name: items.lock_if_free
SELECT 1 AS found FROM work_items WHERE id = ?1
-- name: items.lock
SELECT 1 AS found FROM work_items WHERE id = ?1
-- name: items.move
UPDATE work_items SET stage = ?2, status = ?3, note = ?4, needs_review = ?5, retry_count = ?6,
    holder = NULL, lease_until = NULL, updated_at = ?7, cancel_requested = NULL, requested_by = NULL, request_reason = NULL,
    wait_reason = ?8, topic = ?9, wait_key = ?10, wait_until = ?11,
    is_verdict = CASE WHEN ?3 IN ('pending', 'started', 'held') THEN 0 ELSE is_verdict END,
    deleted_from = CASE WHEN ?3 = 'deleted' THEN status ELSE NULL END
WHERE id = ?1
-- name: items.go_on
UPDATE work_items SET stage = ?3, topic = ?4, wait_key = ?5, note = ?6, lease_until = ?7, stage_started_at = ?8,
    updated_at = ?8, needs_review = 0, retry_count = 0, cancel_requested = NULL, requested_by = NULL, request_reason = NULL, is_verdict = 0
WHERE id = ?1 AND fence = ?2
-- name: items.history_go_on
INSERT INTO item_history (item_id, number, time, stage, status, note, holder, fence)
SELECT ?1, coalesce((SELECT max(number) FROM item_history WHERE item_id = ?1), 0) + 1, ?2, ?3, 'pending', ?4, ?5, ?6
UNION ALL
SELECT ?1, coalesce((SELECT max(number) FROM item_history WHERE item_id = ?1), 0) + 2, ?2, ?3, 'started', NULL, ?5, ?6
-- name: items.set_verdict
UPDATE work_items SET is_verdict = 1 WHERE id = ?1
-- name: items.open_after
SELECT id, topic, updated_at, wait_until FROM work_items INDEXED BY work_items_at_work
WHERE status IN ('pending', 'started') AND id > ?1
ORDER BY id LIMIT ?2
-- name: items.waiting
SELECT id, topic, priority, size, institution_id FROM work_items
WHERE wait_key = ?1 AND status IN ('pending', 'started') AND (?2 IS NULL OR id <> ?2)
ORDER BY priority, number LIMIT 100
-- name: items.count_by_status_of_batch
SELECT status, count(*) AS items FROM work_items
WHERE batch_id = ?2 AND (?1 IS NULL OR institution_id = ?1) GROUP BY status ORDER BY status
-- name: items.history
SELECT h.number, h.time, h.stage, h.status, h.note, h.holder, h.fence, h.actor FROM item_history h
JOIN work_items w ON w.id = h.item_id
WHERE h.item_id = ?1 AND (?2 IS NULL OR w.institution_id = ?2) ORDER BY h.number
-- name: items.problem_insert
INSERT INTO item_problems (item_id, number, severity, code, file, path, line, message)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO NOTHING
-- name: items.problems
SELECT p.severity, p.code, p.file, p.path, p.line, p.message FROM item_problems p
JOIN work_items w ON w.id = p.item_id
WHERE p.item_id = ?1 AND (?2 IS NULL OR w.institution_id = ?2) ORDER BY p.number LIMIT ?3
-- One writer at a time: nothing is to be locked.
-- name: batches.keep_stop
SELECT 1 AS found FROM batch_stops WHERE batch_id = ?1 AND asked_at = ?2
-- Of the batches of a list: 1 where it goes on, 2 the institution, 3 the state, 4 since when, 5 how many, 6 the collection.
-- list: batches.asked_for
(?2 IS NULL OR b.institution_id = ?2) AND (?3 IS NULL OR b.state = ?3)
    AND (?4 IS NULL OR b.created_at >= ?4) AND (b.state <> 'deleted' OR ?3 = 'deleted') AND (?6 IS NULL OR b.collection_id = ?6)
-- name: batches.get
{batches.rows}
WHERE b.id = ?1 AND (?2 IS NULL OR b.institution_id = ?2)
-- The first lines of the histories of new items.
-- name: items.history_begin
INSERT INTO item_history (item_id, number, time, stage, status, note, actor, fence) VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, 0)
-- Of each object that may become a new one, whether its institution has one of this identifier, or an open item that makes one.
-- name: object_ids.are_names_taken
SELECT EXISTS (SELECT 1 FROM objects o WHERE o.institution_id = ?1 AND o.identifier = ?2 AND o.state <> 'new')
    OR EXISTS (SELECT 1 FROM work_items w {items.by_open_name} WHERE w.institution_id = ?1 AND w.object_identifier = ?2
        AND w.status IN ('pending', 'started', 'held') AND w.id <> ?3) AS is_taken
-- name: object_ids.find_each
SELECT object_identifier FROM object_ids WHERE institution_id = ?1 AND kind = ?2 AND value = ?3
-- Inserts rows, or locks those there are until the transaction ends; which object each belongs to.
-- name: object_ids.claim_each
INSERT INTO object_ids (institution_id, kind, value, object_identifier, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (institution_id, kind, value) DO UPDATE SET value = object_ids.value
RETURNING object_identifier
-- name: failures.list
SELECT {failures.columns}
FROM work_items w
WHERE w.status = 'failed' AND (?1 IS NULL OR w.institution_id = ?1) AND ?2 IS NULL AND w.id > ?3 AND NOT {items.made_good} ORDER BY w.id LIMIT ?4
-- name: failures.of_batch
SELECT {failures.columns}
FROM work_items w
WHERE w.status = 'failed' AND (?1 IS NULL OR w.institution_id = ?1) AND w.batch_id = ?2 AND w.id > ?3 AND NOT {items.made_good} ORDER BY w.id LIMIT ?4
