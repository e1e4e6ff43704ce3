-- name: statistics.mark
INSERT INTO statistics_pending (id, object_id) VALUES (?1, ?2)
-- name: statistics.pending
SELECT id, object_id FROM statistics_pending ORDER BY object_id LIMIT ?1
-- name: statistics.is_counted
DELETE FROM statistics_pending WHERE id = ?1
-- name: statistics.count_pending
SELECT count(*) AS pending FROM (SELECT 1 FROM statistics_pending LIMIT ?1) AS counted
-- name: statistics.epochs
SELECT epoch, state, after_object FROM statistics_epochs ORDER BY epoch
-- name: statistics.begin_epoch
INSERT INTO statistics_epochs (epoch, state, after_object, begun_at) VALUES (?1, 'making', ?2, ?3)
-- name: statistics.advance
UPDATE statistics_epochs SET after_object = ?3 WHERE epoch = ?1 AND state = 'making' AND after_object = ?2
-- name: statistics.make_current
UPDATE statistics_epochs SET state = 'current', ended_at = ?3 WHERE epoch = ?1 AND state = 'making' AND after_object = ?2
-- name: statistics.drop_epoch
DELETE FROM statistics_epochs WHERE epoch = ?1
-- name: statistics.drop_days
DELETE FROM statistics_days WHERE epoch = ?1
-- name: statistics.drop_storage
DELETE FROM statistics_storage WHERE epoch = ?1
-- name: statistics.drop_formats
DELETE FROM statistics_formats WHERE epoch = ?1
-- name: statistics.move_storage
UPDATE statistics_storage SET epoch = ?2 WHERE epoch = ?1
-- name: statistics.move_formats
UPDATE statistics_formats SET epoch = ?2 WHERE epoch = ?1
-- By how much what is kept is more in one epoch than in another.
-- name: statistics.storage_difference
SELECT institution_id, collection_id, store, class, CAST(sum(objects) AS BIGINT) AS objects, CAST(sum(files) AS BIGINT) AS files,
    CAST(sum(bytes) AS BIGINT) AS bytes
FROM (SELECT institution_id, collection_id, store, class, objects, files, bytes FROM statistics_storage WHERE epoch = ?1
    UNION ALL SELECT institution_id, collection_id, store, class, -objects, -files, -bytes FROM statistics_storage WHERE epoch = ?2) AS both_epochs
GROUP BY institution_id, collection_id, store, class HAVING sum(objects) <> 0 OR sum(files) <> 0 OR sum(bytes) <> 0
-- name: statistics.formats_difference
SELECT institution_id, collection_id, puid, mime, CAST(sum(files) AS BIGINT) AS files, CAST(sum(bytes) AS BIGINT) AS bytes
FROM (SELECT institution_id, collection_id, puid, mime, files, bytes FROM statistics_formats WHERE epoch = ?1
    UNION ALL SELECT institution_id, collection_id, puid, mime, -files, -bytes FROM statistics_formats WHERE epoch = ?2) AS both_epochs
GROUP BY institution_id, collection_id, puid, mime HAVING sum(files) <> 0 OR sum(bytes) <> 0
-- name: statistics.stale_objects
DELETE FROM statistics_objects WHERE (epoch, object_id) IN (SELECT s.epoch, s.object_id FROM statistics_objects s
    WHERE s.epoch < ?1 ORDER BY s.epoch, s.object_id LIMIT ?2)
-- name: statistics.objects
SELECT id FROM objects WHERE id > ?1 ORDER BY id LIMIT ?2
-- name: statistics.counted
SELECT counted FROM statistics_objects WHERE epoch = ?1 AND object_id = ?2
-- name: statistics.put_counted
INSERT INTO statistics_objects (epoch, object_id, counted) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
-- name: statistics.set_counted
UPDATE statistics_objects SET counted = ?3 WHERE epoch = ?1 AND object_id = ?2 AND counted = ?4
-- name: statistics.object
SELECT institution_id, collection_id FROM objects WHERE id = ?1
-- name: statistics.versions
SELECT generation, number, created_at FROM versions WHERE object_id = ?1 AND state = 'published' ORDER BY generation, number
-- What each version brought, also what was deleted since.
-- name: statistics.brought
SELECT generation, version, count(*) AS files, CAST(sum(size) AS BIGINT) AS bytes
FROM (SELECT c.generation, c.version, c.size FROM contents c WHERE c.object_id = ?1
    UNION ALL SELECT d.generation, d.version, d.size FROM deleted_contents d WHERE d.object_id = ?1) AS brought
GROUP BY generation, version
-- name: statistics.stored
SELECT c.generation, c.version, k.store, coalesce(k.class, '') AS class, count(*) AS files, CAST(sum(c.size) AS BIGINT) AS bytes
FROM contents c JOIN copies k ON k.content_id = c.id
WHERE c.object_id = ?1
GROUP BY c.generation, c.version, k.store, coalesce(k.class, '')
-- name: statistics.formatted
SELECT generation, version, coalesce(puid, '') AS puid, coalesce(mime, '') AS mime, count(*) AS files, CAST(sum(size) AS BIGINT) AS bytes
FROM (SELECT c.id, c.generation, c.version, c.size, max(e.puid) AS puid, max(e.mime) AS mime FROM contents c
    LEFT JOIN entries e ON e.content_id = c.id WHERE c.object_id = ?1 GROUP BY c.id, c.generation, c.version, c.size) AS formatted
GROUP BY generation, version, coalesce(puid, ''), coalesce(mime, '')
-- name: statistics.deleted
SELECT time, count(*) AS files, CAST(sum(size) AS BIGINT) AS bytes
FROM (SELECT coalesce(x.deleted_at, (SELECT max(d.begun_at) FROM deletions d WHERE d.object_id = x.object_id
    AND d.generation = x.generation), 0) AS time, x.size FROM deleted_contents x WHERE x.object_id = ?1) AS deleted
GROUP BY time
-- name: statistics.deletions
SELECT begun_at AS time FROM deletions WHERE object_id = ?1 AND files IS NULL AND state <> 'begun'
-- name: statistics.disseminate
INSERT INTO disseminations (id, object_id, time, bytes) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
-- name: statistics.disseminations
SELECT time, bytes FROM disseminations WHERE object_id = ?1
-- name: statistics.add_day
INSERT INTO statistics_days (epoch, day, institution_id, collection_id, versions, objects, files, bytes, restorations, restored_bytes,
    deleted_objects, deleted_files, deleted_bytes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (epoch, day, institution_id, collection_id) DO UPDATE SET versions = statistics_days.versions + excluded.versions,
    objects = statistics_days.objects + excluded.objects, files = statistics_days.files + excluded.files,
    bytes = statistics_days.bytes + excluded.bytes, restorations = statistics_days.restorations + excluded.restorations,
    restored_bytes = statistics_days.restored_bytes + excluded.restored_bytes,
    deleted_objects = statistics_days.deleted_objects + excluded.deleted_objects,
    deleted_files = statistics_days.deleted_files + excluded.deleted_files,
    deleted_bytes = statistics_days.deleted_bytes + excluded.deleted_bytes
-- name: statistics.add_storage
INSERT INTO statistics_storage (epoch, day, institution_id, collection_id, store, class, objects, files, bytes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (epoch, day, institution_id, collection_id, store, class) DO UPDATE SET
    objects = statistics_storage.objects + excluded.objects, files = statistics_storage.files + excluded.files,
    bytes = statistics_storage.bytes + excluded.bytes
-- name: statistics.add_format
INSERT INTO statistics_formats (epoch, day, institution_id, collection_id, puid, mime, files, bytes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (epoch, day, institution_id, collection_id, puid, mime) DO UPDATE SET
    files = statistics_formats.files + excluded.files, bytes = statistics_formats.bytes + excluded.bytes
-- Days of institutions from one identifier to another, behind a row.
-- name: statistics.days
SELECT s.day, s.institution_id, s.collection_id, i.identifier AS institution, coalesce(c.identifier, '') AS collection, s.versions, s.objects,
    s.files, s.bytes, s.restorations, s.restored_bytes, s.deleted_objects, s.deleted_files, s.deleted_bytes
FROM statistics_days s JOIN institutions i ON i.id = s.institution_id LEFT JOIN collections c ON c.id = s.collection_id
WHERE s.epoch = ?1 AND s.day >= ?2 AND s.day < ?3 AND s.institution_id >= ?4 AND s.institution_id <= ?5
    AND (s.day, s.institution_id, s.collection_id) > (?6, ?7, ?8)
ORDER BY s.day, s.institution_id, s.collection_id LIMIT ?9
-- What is kept at the end of a day.
-- name: statistics.storage_at
SELECT i.identifier AS institution, coalesce(c.identifier, '') AS collection, s.store, s.class, s.objects, s.files, s.bytes
FROM (SELECT institution_id, collection_id, store, class, CAST(sum(objects) AS BIGINT) AS objects, CAST(sum(files) AS BIGINT) AS files,
        CAST(sum(bytes) AS BIGINT) AS bytes FROM statistics_storage
    WHERE epoch = ?1 AND day <= ?2 AND institution_id >= ?3 AND institution_id <= ?4
    GROUP BY institution_id, collection_id, store, class HAVING sum(objects) <> 0 OR sum(files) <> 0 OR sum(bytes) <> 0) AS s
JOIN institutions i ON i.id = s.institution_id LEFT JOIN collections c ON c.id = s.collection_id
-- name: statistics.formats_at
SELECT i.identifier AS institution, coalesce(c.identifier, '') AS collection, s.puid, s.mime, s.files, s.bytes
FROM (SELECT institution_id, collection_id, puid, mime, CAST(sum(files) AS BIGINT) AS files, CAST(sum(bytes) AS BIGINT) AS bytes
    FROM statistics_formats
    WHERE epoch = ?1 AND day <= ?2 AND institution_id >= ?3 AND institution_id <= ?4
    GROUP BY institution_id, collection_id, puid, mime HAVING sum(files) <> 0 OR sum(bytes) <> 0) AS s
JOIN institutions i ON i.id = s.institution_id LEFT JOIN collections c ON c.id = s.collection_id
-- By how much stores have grown on each day, behind a row.
-- name: statistics.growth
SELECT s.day, s.institution_id, s.collection_id, i.identifier AS institution, coalesce(c.identifier, '') AS collection, s.store, s.class, s.bytes
FROM statistics_storage s JOIN institutions i ON i.id = s.institution_id LEFT JOIN collections c ON c.id = s.collection_id
WHERE s.epoch = ?1 AND s.day < ?2 AND s.institution_id >= ?3 AND s.institution_id <= ?4
    AND (s.day, s.institution_id, s.collection_id, s.store, s.class) > (?5, ?6, ?7, ?8, ?9)
ORDER BY s.day, s.institution_id, s.collection_id, s.store, s.class LIMIT ?10
-- name: statistics.kept_of_institution
SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM statistics_formats WHERE epoch = ?1 AND institution_id = ?2
-- The bytes that a version brings.
-- name: statistics.brought_by_version
SELECT CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes FROM contents WHERE object_id = ?1 AND generation = ?2 AND version = ?3
-- name: statistics.lock_institution
UPDATE institutions SET storage_quota = storage_quota WHERE id = ?1
-- name: statistics.reserve
INSERT INTO storage_reservations (item_id, institution_id, version_id, bytes) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (item_id) DO UPDATE SET version_id = excluded.version_id, bytes = excluded.bytes
-- Those of items that have ended count until their version is counted, where it was published, or prepared for when they are requeued.
-- name: statistics.reserved
SELECT CAST(coalesce(sum(r.bytes), 0) AS BIGINT) AS bytes FROM storage_reservations r
LEFT JOIN work_items w ON w.id = r.item_id LEFT JOIN versions v ON v.id = r.version_id
WHERE r.institution_id = ?1 AND r.item_id <> ?2
    AND (w.status IN ('pending', 'started', 'held') OR v.state IN ('committing', 'published')
        OR (w.status = 'failed' AND v.state = 'preparing'))
-- name: statistics.release_counted
DELETE FROM storage_reservations WHERE version_id IN (SELECT v.id FROM versions v WHERE v.object_id = ?1 AND v.state = 'published'
    AND (v.generation, v.number) <= (?2, ?3))
-- name: statistics.release_ended
DELETE FROM storage_reservations WHERE NOT EXISTS (SELECT 1 FROM work_items w WHERE w.id = storage_reservations.item_id
        AND w.status IN ('pending', 'started', 'held', 'failed'))
    AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.id = storage_reservations.version_id AND v.state IN ('committing', 'published'))
-- Checks of fixity in a span of time, of institutions from one identifier to another: passed ones have the copies of an object in one row.
-- name: statistics.fixity
SELECT e.id, e.institution_id, i.identifier AS institution, e.time, e.outcome, e.store, e.components, e.content_id
FROM events e JOIN institutions i ON i.id = e.institution_id
WHERE e.type = 'fixity check' AND e.institution_id = ?1 AND e.time >= ?2 AND e.time < ?3 AND (e.time, e.id) > (?4, ?5)
ORDER BY e.time, e.id LIMIT ?6
-- name: statistics.quota
SELECT storage_quota FROM institutions WHERE id = ?1
