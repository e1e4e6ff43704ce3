-- name: interim.files_after
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = ?1 AND path > ?2 ORDER BY path LIMIT ?3
-- name: interim.file
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = ?1 AND path = ?2
-- name: interim.match_kept
UPDATE interim_files SET content_id = (SELECT c.id FROM contents c WHERE c.object_id = ?4 AND c.generation = ?5
    AND c.sha512 = interim_files.sha512 AND c.version <= ?6)
WHERE item_id = ?1 AND path >= ?2 AND path <= ?3 AND content_id IS NULL
-- name: interim.clear_files
DELETE FROM interim_files WHERE item_id = ?1 AND path IN
    (SELECT path FROM interim_files WHERE item_id = ?1 LIMIT ?2)
-- name: interim.clear_facts
DELETE FROM interim_facts WHERE item_id = ?1
-- name: interim.clear_facts_but
DELETE FROM interim_facts WHERE item_id = ?1 AND name <> ?2 AND name <> ?3
-- name: interim.drop_fact
DELETE FROM interim_facts WHERE item_id = ?1 AND name = ?2
-- name: interim.has_more_files
SELECT 1 AS found FROM interim_files WHERE item_id = ?1 LIMIT 1 OFFSET ?2
-- name: interim.facts
SELECT name, value FROM interim_facts WHERE item_id = ?1
-- name: interim.shown_facts
SELECT name, substr(value, 1, CAST(CAST(?3 AS BIGINT) AS INTEGER)) AS value, CAST(length(value) AS BIGINT) AS length
FROM interim_facts WHERE item_id = ?1 ORDER BY name LIMIT ?2
-- name: interim.fact
SELECT value FROM interim_facts WHERE item_id = ?1 AND name = ?2
-- name: space.reserve
INSERT INTO reservations (item_id, bytes, created_at, staging_id) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (item_id) DO UPDATE SET bytes = ?2
-- What there is of an item in staging, how much the others have, where its institution has a quota how much of it its other deposits
-- have, and who waits.
-- name: space.look
SELECT own.item_id, own.staging_id, own.is_discarded, own.bytes,
    EXISTS (SELECT 1 FROM interim_facts f WHERE f.item_id = ?1)
        OR EXISTS (SELECT 1 FROM interim_files f WHERE f.item_id = ?1) AS has_rows,
    (SELECT CAST(coalesce(sum(other.bytes), 0) AS BIGINT) FROM reservations other WHERE other.item_id <> ?1)
    AS reserved_bytes,
    (SELECT waits.since FROM staging_waits waits WHERE waits.item_id = ?1) AS waits_since,
    EXISTS (SELECT 1 FROM staging_waits waits WHERE waits.item_id <> ?1) AS others_wait,
    i.staging_quota,
    CASE WHEN i.staging_quota IS NOT NULL THEN
        (SELECT CAST(coalesce(sum(r.bytes), 0) AS BIGINT) FROM reservations r CROSS JOIN work_items o
            WHERE o.id = r.item_id AND o.institution_id = i.id AND r.item_id <> ?1)
    ELSE 0 END AS reserved_by_institution
FROM work_items w JOIN institutions i ON i.id = w.institution_id LEFT JOIN reservations own ON own.item_id = w.id
WHERE w.id = ?1
-- What items beside one have that a person has to release or requeue: of all institutions, and of its own.
-- name: space.kept
SELECT CAST(coalesce(sum(r.bytes), 0) AS BIGINT) AS kept,
    CAST(coalesce(sum(CASE WHEN o.institution_id = own.institution_id THEN r.bytes ELSE 0 END), 0) AS BIGINT) AS kept_by_institution
FROM work_items own, reservations r CROSS JOIN work_items o
WHERE own.id = ?1 AND o.id = r.item_id AND r.item_id <> ?1 AND o.status NOT IN ('pending', 'started')
-- name: space.keep_staged
UPDATE reservations SET bytes = ?2 WHERE item_id = ?1 AND bytes <> ?2
-- name: space.shrink
UPDATE reservations SET bytes = ?2 WHERE item_id = ?1 AND bytes > ?2
-- name: space.staged
SELECT CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes FROM interim_files WHERE item_id = ?1
-- name: space.reserved
SELECT bytes FROM reservations WHERE item_id = ?1
-- The item that has most of staging beside one, of every institution or only of the one of that item.
-- name: space.most
SELECT r.item_id, r.bytes, (SELECT w.status FROM work_items w WHERE w.id = r.item_id) AS status,
    (SELECT w.stage FROM work_items w WHERE w.id = r.item_id) AS stage,
    (SELECT w.institution_id FROM work_items w WHERE w.id = r.item_id) AS institution_id
FROM reservations r
WHERE r.item_id <> ?1 AND (NOT ?2 OR (SELECT w.institution_id FROM work_items w WHERE w.id = r.item_id)
    = (SELECT own.institution_id FROM work_items own WHERE own.id = ?1))
ORDER BY r.bytes DESC, r.item_id LIMIT 1
-- What there is in staging, by the status of the items that have it.
-- name: space.sums
SELECT has.status, count(*) AS items, CAST(sum(has.bytes) AS BIGINT) AS bytes
FROM (SELECT (SELECT w.status FROM work_items w WHERE w.id = r.item_id) AS status, r.bytes FROM reservations r) has
GROUP BY has.status
-- Items that failed before a time and still have space.
-- name: space.failed_before
SELECT r.item_id FROM reservations r CROSS JOIN work_items w
WHERE w.id = r.item_id AND w.status = 'failed' AND w.updated_at <= ?1 AND NOT r.is_discarded AND r.item_id > ?2 ORDER BY r.item_id LIMIT ?3
-- name: space.of_item
SELECT staging_id, is_discarded FROM reservations WHERE item_id = ?1
-- name: space.release
DELETE FROM reservations WHERE item_id = ?1
-- name: interim.clear_removals
DELETE FROM interim_removals WHERE item_id = ?1
-- name: interim.add_removal
INSERT INTO interim_removals (item_id, path, file_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
-- name: interim.count_removals
SELECT count(*) AS removals FROM interim_removals WHERE item_id = ?1
-- name: interim.removals_after
SELECT path FROM interim_removals WHERE item_id = ?1 AND path > ?2 ORDER BY path LIMIT ?3
-- Where the clock was set back, it has waited from now on.
-- name: space.wait
INSERT INTO staging_waits (item_id, bytes, needed, since) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (item_id) DO UPDATE SET bytes = ?2, needed = ?3,
    since = CASE WHEN staging_waits.since > ?4 THEN ?4 ELSE staging_waits.since END
-- Items at work that wait for space since before a time, at most so many.
-- name: space.waiting_since
SELECT waits.item_id FROM staging_waits waits CROSS JOIN work_items w
WHERE w.id = waits.item_id AND waits.since <= ?1 AND w.status IN ('pending', 'started') ORDER BY waits.since, waits.item_id LIMIT ?2
-- name: space.end_wait
DELETE FROM staging_waits WHERE item_id = ?1 RETURNING since
-- name: space.waits_before
SELECT 1 AS found FROM staging_waits WHERE since < ?1 LIMIT 1
-- The first of the items that wait since before a time and for longer than this one, and that could not begin if this one did: what
-- is left of staging, or of the quota of its institution, would not be enough. Where the quota is not enough as it is, it keeps
-- waiting only what is of the same institution. What items have that a person has to release or requeue may never become free: one that
-- needs some of it keeps nothing waiting.
-- name: space.first_before
WITH had AS (
    SELECT o.institution_id, CAST(sum(r.bytes) AS BIGINT) AS bytes,
        CAST(sum(CASE WHEN o.status IN ('pending', 'started') THEN 0 ELSE r.bytes END) AS BIGINT) AS kept
    FROM reservations r CROSS JOIN work_items o
    WHERE o.id = r.item_id AND r.item_id <> ?1 GROUP BY o.institution_id
)
SELECT waits.item_id FROM staging_waits waits JOIN work_items w ON w.id = waits.item_id
    JOIN institutions i ON i.id = w.institution_id JOIN work_items own ON own.id = ?1
    LEFT JOIN had ON had.institution_id = i.id
WHERE waits.since <= ?2 AND waits.item_id <> ?1 AND w.status IN ('pending', 'started') AND w.wait_key = ?6
    AND NOT EXISTS (SELECT 1 FROM staging_waits mine WHERE mine.item_id = ?1
        AND (mine.since < waits.since OR mine.since = waits.since AND mine.item_id < waits.item_id))
    AND waits.needed <= ?4 - (SELECT CAST(coalesce(sum(h.kept), 0) AS BIGINT) FROM had h)
    AND (i.staging_quota IS NULL OR waits.bytes <= i.staging_quota - coalesce(had.kept, 0))
    AND CASE
        WHEN i.staging_quota IS NOT NULL AND waits.bytes > i.staging_quota - coalesce(had.bytes, 0)
            OR waits.needed > ?4 - coalesce(had.bytes, 0)
        THEN w.institution_id = own.institution_id
        ELSE waits.needed > ?3 OR (w.institution_id = own.institution_id AND i.staging_quota IS NOT NULL
            AND waits.bytes > i.staging_quota - coalesce(had.bytes, 0) - ?5)
    END
ORDER BY waits.since, waits.item_id LIMIT 1
