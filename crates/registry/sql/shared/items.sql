-- Whether all that an item lacks is the confirmation of a program: items.only_unconfirmed.
-- The columns of an item as it is read from a row, whether a person holds the item, its batch or its collection, and the tables
-- that the columns are of.
-- list: items.columns
w.id, w.batch_id, w.institution_id, w.collection_id, w.action, w.object_id, w.object_identifier, w.file_id,
    w.name, w.source, w.etag, w.size, w.options, w.stage, w.status, w.priority, w.note, w.needs_review, w.retry_count,
    CASE WHEN {items.is_stopped_with_batch} THEN s.status ELSE w.cancel_requested END AS cancel_requested,
    CASE WHEN {items.is_stopped_with_batch} THEN s.asked_by ELSE w.requested_by END AS requested_by,
    CASE WHEN {items.is_stopped_with_batch} THEN s.reason ELSE w.request_reason END AS request_reason, w.fence, w.holder, w.lease_until, w.version, w.created_at, w.updated_at,
    i.identifier AS institution_identifier, c.identifier AS collection_identifier, w.is_verdict, w.staging_losses,
    w.wait_reason, w.wait_until, w.wait_key, w.topic,
    {items.is_committed} AS is_committed,
    {items.is_on_hold} AS is_on_hold, w.requeues, w.deleted_from
-- list: items.is_committed
(w.is_committed OR EXISTS (SELECT 1 FROM versions v WHERE v.item_id = w.id AND v.state IN ('committing', 'published')))
-- list: items.is_on_hold
EXISTS (SELECT 1 FROM holds h WHERE h.subject_id IN (w.id, w.batch_id, w.collection_id))
-- Whether what is asked of the item is what is asked of its whole batch.
-- list: items.is_stopped_with_batch
(w.cancel_requested IS NULL AND w.status IN ('pending', 'started') AND s.status IS NOT NULL)
-- list: items.only_unconfirmed
(w.wait_key IS NOT NULL AND w.wait_key = 'confirmation')
-- What changes an object takes its turn with others that do.
-- list: items.takes_turn
w.action IN ('ingest', 'delete_object', 'delete_files')
-- list: items.tables
work_items w JOIN institutions i ON i.id = w.institution_id LEFT JOIN collections c ON c.id = w.collection_id
    LEFT JOIN batch_stops s ON s.batch_id = w.batch_id
-- Whether a deposit that failed needs no review any more: a later one of the same object succeeded, that is no other part of it.
-- Where it has to make an object of its own (the option is_own_object), one that is called alike is the same only where it made it.
-- list: items.made_good
(w.action = 'ingest' AND w.status = 'failed' AND EXISTS (SELECT 1 FROM work_items x
    WHERE x.institution_id = w.institution_id AND x.object_identifier = w.object_identifier
        AND x.number > w.number AND x.action = 'ingest' AND x.status = 'succeeded'
        AND (w.options NOT LIKE '%"is_own_object":true%' OR x.object_id = w.object_id)
        AND NOT EXISTS (SELECT 1 FROM item_parts m JOIN item_parts p ON p.total = m.total AND p.number <> m.number
            WHERE m.item_id = w.id AND p.item_id = x.id)))
-- list: failures.columns
w.id, w.institution_id, w.stage, w.source, w.note,
    (SELECT p.code FROM item_problems p WHERE p.item_id = w.id AND p.severity = 'error' ORDER BY p.number LIMIT 1) AS code
-- name: items.claim
UPDATE work_items SET fence = fence + 1, holder = ?2, lease_until = ?3, status = 'started', stage_started_at = ?4,
    updated_at = ?4, wait_reason = NULL, wait_until = NULL, topic = ?6
WHERE id = ?1 AND status IN ('pending', 'started') AND stage = ?5
RETURNING fence
-- name: items.extend
UPDATE work_items SET lease_until = ?3 WHERE id = ?1 AND fence = ?2 AND status = 'started'
RETURNING (cancel_requested IS NOT NULL OR (NOT is_committed AND EXISTS (SELECT 1 FROM holds h
    WHERE h.subject_id IN (work_items.id, work_items.batch_id, work_items.collection_id)))
    OR (NOT is_committed AND EXISTS (SELECT 1 FROM batch_stops s WHERE s.batch_id = work_items.batch_id))) AS is_asked_to_stop
-- name: items.set_staging_losses
UPDATE work_items SET staging_losses = ?2 WHERE id = ?1
-- name: items.count_requeue
UPDATE work_items SET requeues = requeues + 1 WHERE id = ?1
-- name: items.raise_fence
UPDATE work_items SET fence = fence + 1 WHERE id = ?1
-- name: items.note
UPDATE work_items SET note = ?3, updated_at = ?4 WHERE id = ?1 AND fence = ?2
-- name: items.set_source
UPDATE work_items SET etag = ?3, size = coalesce(?4, size), name = coalesce(?5, name) WHERE id = ?1 AND fence = ?2
-- name: items.set_priority
UPDATE work_items SET priority = ?2 WHERE id = ?1
-- name: items.set_object
UPDATE work_items SET object_id = ?3 WHERE id = ?1 AND fence = ?2
-- name: items.set_version
UPDATE work_items SET version = ?3 WHERE id = ?1 AND fence = ?2
-- name: items.ask_cancel
UPDATE work_items SET cancel_requested = ?2, requested_by = ?3, request_reason = ?4 WHERE id = ?1
-- name: items.older_open
SELECT w.id FROM work_items w
WHERE w.institution_id = ?1 AND w.object_identifier = ?2 AND w.number < (SELECT m.number FROM work_items m WHERE m.id = ?3)
    AND w.status IN ('pending', 'started', 'held')
    AND {items.takes_turn} AND NOT {items.only_unconfirmed}
    AND NOT EXISTS (SELECT 1 FROM item_parts m JOIN item_parts p ON p.total = m.total AND p.number <> m.number
        WHERE m.item_id = ?3 AND p.item_id = w.id)
ORDER BY w.number DESC LIMIT 1
-- name: items.open_up_to
SELECT w.id FROM work_items w
WHERE w.institution_id = ?1 AND w.object_identifier = ?2 AND w.number <= (SELECT m.number FROM work_items m WHERE m.id = ?3)
    AND w.status IN ('pending', 'started', 'held') AND {items.takes_turn} AND (w.id = ?3 OR NOT {items.only_unconfirmed})
ORDER BY w.number
-- name: items.next_waiting
SELECT id FROM work_items WHERE wait_key = ?1 AND status IN ('pending', 'started')
    AND number > (SELECT m.number FROM work_items m WHERE m.id = ?2)
ORDER BY number LIMIT 1
-- name: items.set_committed_of_version
UPDATE work_items SET is_committed = TRUE WHERE id = (SELECT item_id FROM versions WHERE versions.id = ?1)
-- name: items.set_committed
UPDATE work_items SET is_committed = TRUE WHERE id = ?1
-- In the order of the index, so that it is read and nothing else.
-- name: items.count_up_to
SELECT count(*) AS items FROM (SELECT id FROM work_items WHERE status = ?1 ORDER BY id LIMIT ?2) AS counted
-- name: items.waiting_for_tools
SELECT {items.columns} FROM {items.tables} WHERE w.wait_reason = 'tool' ORDER BY w.id DESC LIMIT ?1
-- name: items.count_by_status
SELECT status, count(*) AS items FROM work_items GROUP BY status ORDER BY status
-- name: items.count_by_status_of_institution
SELECT status, count(*) AS items FROM work_items WHERE institution_id = ?1 GROUP BY status ORDER BY status
-- Counted in the index; names are looked up for the groups.
-- name: items.count_by_collection
SELECT c.identifier AS collection, counted.status, counted.items
FROM (SELECT collection_id, status, count(*) AS items FROM work_items WHERE institution_id = ?1 GROUP BY collection_id, status)
    AS counted
LEFT JOIN collections c ON c.id = counted.collection_id
ORDER BY c.identifier IS NOT NULL, c.identifier, counted.status
-- name: items.open_of_collection
SELECT status, count(*) AS items FROM work_items
WHERE institution_id = ?1 AND collection_id = ?2 AND status IN ('pending', 'started', 'held') GROUP BY status ORDER BY status
-- name: items.history_insert
INSERT INTO item_history (item_id, number, time, stage, status, note, holder, actor, fence)
SELECT ?1, coalesce((SELECT max(number) FROM item_history WHERE item_id = ?1), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, fence
FROM work_items WHERE id = ?1
-- What the stage before said when an item last came to a stage: not what workers, and those who took over from them, said of it there,
-- nor what a person did.
-- name: items.note_at
SELECT h.note FROM item_history h
WHERE h.item_id = ?1 AND h.stage = ?2 AND h.note IS NOT NULL AND h.actor IS NULL
    AND h.stage <> (SELECT b.stage FROM item_history b WHERE b.item_id = h.item_id AND b.number < h.number
        ORDER BY b.number DESC LIMIT 1)
ORDER BY h.number DESC LIMIT 1
-- name: items.problems_clear
DELETE FROM item_problems WHERE item_id = ?1
-- name: batches.insert
INSERT INTO batches (id, institution_id, collection_id, type, state, submitted_by, note, created_at, updated_at, row_count,
    rules_version, notify_to)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, (SELECT rules_version FROM collections WHERE id = ?3), ?10)
ON CONFLICT (id) DO NOTHING
RETURNING (notify_to IS NOT NULL OR EXISTS (SELECT 1 FROM collection_rules r
    WHERE r.collection_id = batches.collection_id AND r.version = batches.rules_version AND r.notify_to IS NOT NULL))
    AS has_addresses
-- list: batches.rows
SELECT b.id, b.institution_id, i.identifier AS institution_identifier, c.identifier AS collection_identifier, b.type,
    b.collection_id, b.state, b.submitted_by, b.note, b.row_count, b.created_at, b.updated_at
FROM batches b JOIN institutions i ON i.id = b.institution_id LEFT JOIN collections c ON c.id = b.collection_id
-- Pages of batches, by the index of what is asked for most narrowly.
-- name: batches.oldest
{batches.rows}
WHERE b.id > ?1 AND {batches.asked_for}
ORDER BY b.id LIMIT ?5
-- name: batches.oldest_of_institution
{batches.rows}
WHERE b.institution_id = ?2 AND b.id > ?1 AND {batches.asked_for}
ORDER BY b.id LIMIT ?5
-- name: batches.oldest_of_collection
{batches.rows}
WHERE b.collection_id = ?6 AND b.id > ?1 AND {batches.asked_for}
ORDER BY b.id LIMIT ?5
-- name: batches.newest
{batches.rows}
WHERE b.id < ?1 AND {batches.asked_for}
ORDER BY b.id DESC LIMIT ?5
-- name: batches.newest_of_institution
{batches.rows}
WHERE b.institution_id = ?2 AND b.id < ?1 AND {batches.asked_for}
ORDER BY b.id DESC LIMIT ?5
-- name: batches.newest_of_collection
{batches.rows}
WHERE b.collection_id = ?6 AND b.id < ?1 AND {batches.asked_for}
ORDER BY b.id DESC LIMIT ?5
-- name: batches.rules_version
SELECT rules_version FROM batches WHERE id = ?1
-- Items that make those of the rows of a list, and have not made the last one.
-- name: batches.open_lists
SELECT id FROM work_items WHERE batch_id = ?1 AND list_state = 'open' ORDER BY id
-- The items of a batch that make those of the rows of its lists and have done so, by status.
-- name: batches.done_lists
SELECT status, count(*) AS items FROM work_items
WHERE batch_id = ?1 AND list_state IS NOT NULL AND status IN ('succeeded', 'deleted') GROUP BY status ORDER BY status
-- name: batches.has_undeleted
SELECT 1 AS found FROM work_items WHERE batch_id = ?1
    AND status IN ('pending', 'started', 'held', 'failed', 'cancelled', 'succeeded') LIMIT 1
-- name: batches.being_deleted
SELECT b.id, h.placed_by FROM holds h JOIN batches b ON b.id = h.subject_id
WHERE h.kind = 'batch' AND b.state = 'deleted' AND b.id > ?1 ORDER BY b.id LIMIT ?2
-- What is asked of every item of a batch that is open, until each has been told. A cancellation takes the place of a failure.
-- name: batches.stop
INSERT INTO batch_stops (batch_id, status, asked_by, reason, asked_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (batch_id) DO UPDATE
SET status = excluded.status, asked_by = excluded.asked_by, reason = excluded.reason, asked_at = excluded.asked_at
WHERE batch_stops.status = 'failed' AND excluded.status = 'cancelled'
-- name: batches.has_items_to_cancel
SELECT 1 AS found FROM work_items w
WHERE w.batch_id = ?1 AND w.status IN ('pending', 'started', 'held') AND NOT {items.is_committed} LIMIT 1
-- name: batches.has_items_to_fail
SELECT 1 AS found FROM work_items w
WHERE w.batch_id = ?1 AND w.status IN ('pending', 'started') AND coalesce(w.cancel_requested, '') <> 'cancelled'
    AND NOT {items.is_committed} LIMIT 1
-- The same, but for those that were told.
-- name: batches.has_untold_to_cancel
SELECT 1 AS found FROM work_items w
WHERE w.batch_id = ?1 AND (w.status IN ('pending', 'held') OR (w.status = 'started' AND coalesce(w.cancel_requested, '') <> 'cancelled'))
    AND NOT {items.is_committed} LIMIT 1
-- name: batches.has_untold_to_fail
SELECT 1 AS found FROM work_items w
WHERE w.batch_id = ?1 AND (w.status = 'pending' OR (w.status = 'started' AND w.cancel_requested IS NULL))
    AND NOT {items.is_committed} LIMIT 1
-- Items that workers have, and that were told to end.
-- name: batches.count_ending
SELECT count(*) AS items FROM work_items
WHERE batch_id = ?1 AND status = 'started' AND cancel_requested IS NOT NULL
-- name: batches.end_stop
DELETE FROM batch_stops WHERE batch_id = ?1 AND status = coalesce(?2, status)
-- name: batches.stop_of
SELECT batch_id, status, asked_by, reason, asked_at FROM batch_stops WHERE batch_id = ?1
-- name: batches.has_stop
SELECT EXISTS (SELECT 1 FROM batch_stops) AS has_stop
-- name: batches.stops
SELECT batch_id, status, asked_by, reason, asked_at FROM batch_stops WHERE batch_id > ?1 ORDER BY batch_id LIMIT ?2
-- name: batches.waits
SELECT 1 AS found FROM work_items WHERE batch_id = ?1 AND status = 'pending' LIMIT 1
-- name: batches.waits_in
SELECT 1 AS found FROM work_items WHERE batch_id = ?1 AND status = 'pending' AND topic = ?2 LIMIT 1
-- name: batches.set_addresses
UPDATE batches SET notify_to = ?2 WHERE id = ?1
-- name: batches.take_new_rules
UPDATE batches SET rules_version = (SELECT c.rules_version FROM collections c WHERE c.id = batches.collection_id)
WHERE id = ?1 AND rules_version <> (SELECT c.rules_version FROM collections c WHERE c.id = batches.collection_id)
-- name: batches.lock
UPDATE batches SET state = state WHERE id = ?1
-- name: batches.set_state
UPDATE batches SET state = ?2, updated_at = ?3 WHERE id = ?1
-- name: batches.has_items
SELECT EXISTS (SELECT 1 FROM work_items WHERE batch_id = ?1 AND status IN ('pending', 'started')) AS has_items_at_work,
    EXISTS (SELECT 1 FROM work_items WHERE batch_id = ?1 AND status = 'held') AS has_held_items,
    EXISTS (SELECT 1 FROM work_items WHERE batch_id = ?1 AND status IN ('failed', 'cancelled'))
    OR EXISTS (SELECT 1 FROM work_items WHERE batch_id = ?1 AND status = 'deleted' AND deleted_from <> 'succeeded')
        AS has_unsuccessful_items,
    EXISTS (SELECT 1 FROM batches b LEFT JOIN collection_rules r ON r.collection_id = b.collection_id AND r.version = b.rules_version
        WHERE b.id = ?1 AND (b.notify_to IS NOT NULL OR r.notify_to IS NOT NULL OR r.callback_url IS NOT NULL)) AS has_listeners,
    EXISTS (SELECT 1 FROM batches b JOIN collection_rules r ON r.collection_id = b.collection_id AND r.version = b.rules_version
        WHERE b.id = ?1 AND r.callback_url IS NOT NULL) AS has_callback
-- name: items.set_options
UPDATE work_items SET options = ?3 WHERE id = ?1 AND fence = ?2
-- name: items.set_object_identifier
UPDATE work_items SET object_identifier = ?3, wait_key = ?4 WHERE id = ?1 AND fence = ?2
-- What the newest deposit of an object says that a harvest has made, and that has not failed.
-- name: items.harvested
SELECT w.options, w.source FROM work_items w
WHERE w.institution_id = ?1 AND w.object_identifier = ?2 AND w.action = 'ingest' AND w.source LIKE 'document:%'
    AND w.status IN ('pending', 'started', 'held', 'succeeded')
ORDER BY w.number DESC LIMIT 1
-- What the newest version of the object says that a harvest has made, where there is no such work item, as after a rebuild.
-- name: items.harvested_version
SELECT v.harvested_from, v.harvested_part FROM objects o JOIN versions v ON v.object_id = o.id AND v.generation = o.generation
WHERE o.institution_id = ?1 AND o.identifier = ?2 AND v.state = 'published' AND v.harvested_from IS NOT NULL
ORDER BY v.number DESC LIMIT 1
