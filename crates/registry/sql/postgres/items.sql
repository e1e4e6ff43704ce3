-- By which index items are found: PostgreSQL knows how many rows are alike, and needs no word of it.
-- list: items.by_open_name

-- list: items.by_batch

-- The locks are held until the commit: the items of an institution become visible in the order of their numbers.
-- name: items.insert
WITH new AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::text[], $8::uuid[],
        $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], $15::text[],
        $16::bigint[], $17::text[], $18::text[], $19::uuid[], $20::text[], $21::uuid[]) WITH ORDINALITY
    AS new (id, batch_id, institution_id, collection_id, action, object_id, object_identifier, file_id, name, source, size,
        options, stage, priority, note, made_at, topic, wait_key, actor_id, list_state, activity_id,
        place)
), made AS (
    INSERT INTO work_items (id, batch_id, institution_id, collection_id, action, object_id, object_identifier, file_id, name,
        source, size, options, stage, status, priority, note, created_at, updated_at, topic, wait_key, actor_id, list_state,
        activity_id, number)
    SELECT id, batch_id, institution_id, collection_id, action, object_id, object_identifier, file_id, name,
        source, size, options, stage,
        CASE WHEN EXISTS (SELECT 1 FROM holds h WHERE h.subject_id IN (ordered.batch_id, ordered.collection_id))
            THEN 'held' ELSE 'pending' END,
        priority, note, made_at, made_at, topic, wait_key, actor_id, list_state, activity_id,
        (SELECT nextval('work_item_number') FROM (SELECT pg_advisory_xact_lock(hashtextextended(current_schema()
            || '.work_items.' || ordered.institution_id::text, 0))) AS locked)
    FROM (SELECT * FROM new ORDER BY place) AS ordered
    ON CONFLICT (id) DO NOTHING
    RETURNING id, status
)
SELECT new.place, made.id, made.status FROM made JOIN new ON new.id = made.id
-- name: items.get
SELECT {items.columns}
FROM {items.tables}
WHERE w.id = $1 AND ($2::uuid IS NULL OR w.institution_id = $2)
-- name: items.claimed
SELECT {items.columns},
    EXISTS (SELECT 1 FROM object_leases l WHERE l.owner = w.id AND l.lease_until > 0) AS holds_object,
    coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') AS replacements,
    (SELECT coalesce(max(version), 0) FROM schema_version) AS schema_version
FROM {items.tables}
WHERE w.id = $1 AND w.fence = $2 AND w.status = 'started'
FOR NO KEY UPDATE OF w
-- As items.claimed for several, without waiting for others.
-- name: items.claimed_if_free
SELECT held.place, {items.columns},
    EXISTS (SELECT 1 FROM object_leases l WHERE l.owner = w.id AND l.lease_until > 0) AS holds_object,
    coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') AS replacements,
    (SELECT coalesce(max(version), 0) FROM schema_version) AS schema_version
FROM {items.tables}
JOIN unnest((SELECT $1::uuid[]), (SELECT $2::bigint[])) WITH ORDINALITY AS held (id, fence, place) ON w.id = held.id AND w.fence = held.fence
WHERE w.status || '' = 'started'
FOR NO KEY UPDATE OF w SKIP LOCKED
-- name: items.to_take_up
SELECT {items.columns},
    EXISTS (SELECT 1 FROM object_leases l WHERE l.owner = w.id AND l.lease_until > 0) AS holds_object,
    coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') AS replacements
FROM {items.tables}
WHERE w.id = $1
FOR NO KEY UPDATE OF w
-- name: items.may_write
SELECT 1 AS found FROM work_items WHERE id = $1 AND fence = $2 AND status = 'started'
    AND coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') = $3
FOR NO KEY UPDATE OF work_items
-- name: items.may_write_version
SELECT v.state FROM work_items w LEFT JOIN versions v ON v.id = $4
WHERE w.id = $1 AND w.fence = $2 AND w.status = 'started'
    AND coalesce((SELECT value FROM registry_facts WHERE name = 'stores.replacements'), '0') = $3
FOR NO KEY UPDATE OF w
-- name: items.lock_if_free
SELECT 1 AS found FROM work_items WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED
-- name: items.lock
SELECT 1 AS found FROM work_items WHERE id = $1 FOR NO KEY UPDATE
-- name: items.move
UPDATE work_items SET stage = $2, status = $3, note = $4, needs_review = $5, retry_count = $6,
    holder = NULL, lease_until = NULL, updated_at = $7, cancel_requested = NULL, requested_by = NULL, request_reason = NULL,
    wait_reason = $8, topic = $9, wait_key = $10, wait_until = $11,
    is_verdict = CASE WHEN $3 IN ('pending', 'started', 'held') THEN FALSE ELSE is_verdict END,
    deleted_from = CASE WHEN $3 = 'deleted' THEN status ELSE NULL END
WHERE id = $1
-- name: items.go_on
UPDATE work_items SET stage = held.stage, topic = held.topic, wait_key = held.wait_key, note = held.note, lease_until = held.lease_until,
    stage_started_at = held.now, updated_at = held.now, needs_review = FALSE, retry_count = 0, cancel_requested = NULL,
    requested_by = NULL, request_reason = NULL, is_verdict = FALSE
FROM unnest((SELECT $1::uuid[]), (SELECT $2::bigint[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::text[]), (SELECT $6::text[]),
    (SELECT $7::bigint[]), (SELECT $8::bigint[])) AS held (id, fence, stage, topic, wait_key, note, lease_until, now)
WHERE work_items.id = held.id AND work_items.fence = held.fence
-- name: items.history_go_on
INSERT INTO item_history (item_id, number, time, stage, status, note, holder, fence)
SELECT held.id, last.number + line.number, held.time, held.stage, line.status, CASE WHEN line.number = 1 THEN held.note END, held.holder,
    held.fence
FROM unnest((SELECT $1::uuid[]), (SELECT $2::bigint[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::text[]), (SELECT $6::bigint[]))
    AS held (id, time, stage, note, holder, fence)
CROSS JOIN LATERAL (SELECT coalesce(max(number), 0) AS number FROM item_history WHERE item_id = held.id) AS last
CROSS JOIN (VALUES (1, 'pending'), (2, 'started')) AS line (number, status)
-- name: items.set_verdict
UPDATE work_items SET is_verdict = TRUE WHERE id = $1
-- name: items.open_after
SELECT id, topic, updated_at, wait_until FROM work_items
WHERE status IN ('pending', 'started') AND id > $1
ORDER BY id LIMIT $2
-- name: items.waiting
SELECT id, topic, priority, size, institution_id FROM work_items
WHERE wait_key = $1 AND status IN ('pending', 'started') AND ($2::uuid IS NULL OR id <> $2)
ORDER BY priority, number LIMIT 100
-- name: items.count_by_status_of_batch
SELECT status, count(*) AS items FROM work_items
WHERE batch_id = $2 AND ($1::uuid IS NULL OR institution_id = $1) GROUP BY status ORDER BY status
-- name: items.history
SELECT h.number, h.time, h.stage, h.status, h.note, h.holder, h.fence, h.actor FROM item_history h
JOIN work_items w ON w.id = h.item_id
WHERE h.item_id = $1 AND ($2::uuid IS NULL OR w.institution_id = $2) ORDER BY h.number
-- name: items.problem_insert
INSERT INTO item_problems (item_id, number, severity, code, file, path, line, message)
SELECT item_id, number, severity, code, file, path, line, message FROM unnest($1::uuid[], $2::bigint[],
    $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[]) AS new (item_id, number, severity,
    code, file, path, line, message)
ON CONFLICT DO NOTHING
-- name: items.problems
SELECT p.severity, p.code, p.file, p.path, p.line, p.message FROM item_problems p
JOIN work_items w ON w.id = p.item_id
WHERE p.item_id = $1 AND ($2::uuid IS NULL OR w.institution_id = $2) ORDER BY p.number LIMIT $3
-- name: batches.keep_stop
SELECT 1 AS found FROM batch_stops WHERE batch_id = $1 AND asked_at = $2 FOR SHARE
-- Of the batches of a list: 1 where it goes on, 2 the institution, 3 the state, 4 since when, 5 how many, 6 the collection.
-- list: batches.asked_for
($2::uuid IS NULL OR b.institution_id = $2) AND ($3::text IS NULL OR b.state = $3)
    AND ($4::bigint IS NULL OR b.created_at >= $4) AND (b.state <> 'deleted' OR $3 = 'deleted') AND ($6::uuid IS NULL OR b.collection_id = $6)
-- name: batches.get
{batches.rows}
WHERE b.id = $1 AND ($2::uuid IS NULL OR b.institution_id = $2)
-- The first lines of the histories of new items.
-- name: items.history_begin
INSERT INTO item_history (item_id, number, time, stage, status, note, actor, fence)
SELECT item_id, 1, time, stage, status, note, actor, 0
FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS new (item_id, time, stage, status, note, actor)
-- Of each object that may become a new one, whether its institution has one of this identifier, or an open item that makes one.
-- name: object_ids.are_names_taken
SELECT new.place,
    EXISTS (SELECT 1 FROM objects o
        WHERE o.institution_id = new.institution_id AND o.identifier = new.identifier AND o.state <> 'new')
    OR EXISTS (SELECT 1 FROM work_items w
        WHERE w.institution_id = new.institution_id AND w.object_identifier = new.identifier
            AND w.status IN ('pending', 'started', 'held') AND w.id <> new.item_id) AS is_taken
FROM unnest($1::uuid[], $2::text[], $3::uuid[]) WITH ORDINALITY AS new (institution_id, identifier, item_id, place)
-- name: object_ids.find_each
SELECT wanted.place, o.object_identifier
FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (institution_id, kind, value, place)
JOIN object_ids o ON o.institution_id = wanted.institution_id AND o.kind = wanted.kind AND o.value = wanted.value
-- Inserts rows, or locks those there are until the transaction ends; which object each belongs to.
-- name: object_ids.claim_each
WITH new AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY
        AS new (institution_id, kind, value, object_identifier, created_at, place)
), claimed AS (
    INSERT INTO object_ids (institution_id, kind, value, object_identifier, created_at)
    SELECT institution_id, kind, value, object_identifier, created_at FROM new ORDER BY kind, value
    ON CONFLICT (institution_id, kind, value) DO UPDATE SET value = object_ids.value
    RETURNING institution_id, kind, value, object_identifier
)
SELECT new.place, claimed.object_identifier
FROM claimed JOIN new ON new.institution_id = claimed.institution_id AND new.kind = claimed.kind AND new.value = claimed.value
-- name: failures.list
SELECT {failures.columns}
FROM work_items w
WHERE w.status = 'failed' AND ($1::uuid IS NULL OR w.institution_id = $1) AND $2::uuid IS NULL AND w.id > $3 AND NOT {items.made_good} ORDER BY w.id LIMIT $4
-- name: failures.of_batch
SELECT {failures.columns}
FROM work_items w
WHERE w.status = 'failed' AND ($1::uuid IS NULL OR w.institution_id = $1) AND w.batch_id = $2 AND w.id > $3 AND NOT {items.made_good} ORDER BY w.id LIMIT $4
