-- list: deletions.columns
d.id, d.item_id, d.institution_id, d.object_id, d.generation, d.files, d.state, d.name, d.tombstone, d.begun_at,
    d.settled_at, d.completed_at
-- name: deletions.insert
INSERT INTO deletions (id, item_id, institution_id, object_id, generation, files, state, name, tombstone, begun_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO NOTHING
-- name: deletions.insert_store
INSERT INTO deletion_stores (deletion_id, store, object_id) VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING
-- name: deletions.get
SELECT {deletions.columns} FROM deletions d WHERE d.id = ?1
-- name: deletions.of_item
SELECT {deletions.columns} FROM deletions d WHERE d.item_id = ?1
-- name: deletions.of_object
SELECT {deletions.columns} FROM deletions d WHERE d.object_id = ?1 ORDER BY d.begun_at, d.id
-- name: deletions.count_of_object
SELECT count(*) AS deletions FROM deletions WHERE object_id = ?1
-- What is still to be done in stores about an object, in the order in which it was begun.
-- name: deletions.pending_of_object
SELECT s.deletion_id, s.store FROM deletion_stores s JOIN deletions d ON d.id = s.deletion_id
WHERE s.object_id = ?1 AND s.done_at IS NULL AND d.state <> 'begun'
ORDER BY d.begun_at, d.id, s.store
-- What was carried out in a store about an object, in the order in which it was begun.
-- name: deletions.done_of_object
SELECT s.deletion_id, d.generation FROM deletion_stores s JOIN deletions d ON d.id = s.deletion_id
WHERE s.object_id = ?1 AND s.store = ?2 AND s.done_at IS NOT NULL AND d.state <> 'begun'
ORDER BY d.begun_at, d.id
-- The deletions of an object as a whole, in other generations than one, and how each is in a store.
-- name: deletions.of_earlier
SELECT d.id, d.generation, s.deletion_id AS in_store, coalesce(s.is_left, FALSE) AS is_left FROM deletions d
LEFT JOIN deletion_stores s ON s.deletion_id = d.id AND s.store = ?3
WHERE d.object_id = ?1 AND d.generation <> ?2 AND d.files IS NULL AND d.state <> 'begun'
ORDER BY d.begun_at, d.id
-- name: deletions.whole_of_generation
SELECT {deletions.columns} FROM deletions d
WHERE d.object_id = ?1 AND d.generation = ?2 AND d.files IS NULL AND d.state <> 'begun' ORDER BY d.begun_at, d.id LIMIT 1
-- The deletion of an object, or of files of it, that is begun by a work item and not settled.
-- name: deletions.begun_of_object
SELECT {deletions.columns} FROM deletions d
WHERE d.object_id = ?1 AND d.state = 'begun'
ORDER BY d.begun_at, d.id LIMIT 1
-- How many objects have something that is still to be removed from each store.
-- name: deletions.unfinished
SELECT s.store, count(DISTINCT s.object_id) AS objects FROM deletion_stores s
WHERE s.done_at IS NULL GROUP BY s.store ORDER BY s.store
-- How many removals stores refuse, of at most so many.
-- name: deletions.count_refused
SELECT count(*) AS removals FROM (SELECT 1 FROM deletion_stores s
    WHERE s.done_at IS NULL AND s.reason IS NOT NULL LIMIT ?1) AS refused
-- name: deletions.has_deleted_content
SELECT 1 AS found FROM deleted_contents
WHERE object_id = ?1 AND generation = ?2 AND version = ?3 AND sha512 = ?4 LIMIT 1
-- The tombstones that a store has of a generation of an object, unless they are still to be put there.
-- name: deletions.tombstones_in
SELECT d.id, d.name FROM deletions d
WHERE d.object_id = ?1 AND d.generation = ?2 AND d.state <> 'begun'
    AND NOT EXISTS (SELECT 1 FROM deletion_stores s WHERE s.deletion_id = d.id AND s.store = ?3 AND s.done_at IS NULL)
ORDER BY d.begun_at, d.id
-- name: deletions.any_pending
SELECT 1 AS found FROM deletion_stores WHERE object_id = ?1 AND done_at IS NULL LIMIT 1
-- name: deletions.pending_objects
SELECT DISTINCT s.object_id FROM deletion_stores s WHERE s.done_at IS NULL AND s.object_id > ?1 ORDER BY s.object_id LIMIT ?2
-- name: deletions.stores
SELECT store, done_at, reason FROM deletion_stores WHERE deletion_id = ?1 ORDER BY store
-- name: deletions.store_is_done
UPDATE deletion_stores SET done_at = ?3, reason = NULL, is_left = CASE WHEN ?4 THEN ?4 ELSE is_left END
WHERE deletion_id = ?1 AND store = ?2 AND done_at IS NULL
-- What a deletion has left was put into a store that did not have it.
-- name: deletions.put_left
INSERT INTO deletion_stores (deletion_id, store, object_id, done_at, is_left) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (deletion_id, store) DO UPDATE SET is_left = excluded.is_left
-- A page of what deletions have left in a store of earlier generations.
-- name: deletions.left_in_store
SELECT s.deletion_id, d.object_id, d.generation, i.identifier FROM deletion_stores s
JOIN deletions d ON d.id = s.deletion_id JOIN objects o ON o.id = d.object_id JOIN institutions i ON i.id = o.institution_id
WHERE s.store = ?1 AND s.deletion_id > ?2 AND s.is_left = ?4 AND d.generation <> o.generation AND d.state <> 'begun'
ORDER BY s.deletion_id LIMIT ?3
-- name: deletions.store_failed
UPDATE deletion_stores SET reason = ?3 WHERE deletion_id = ?1 AND store = ?2 AND done_at IS NULL
-- name: deletions.store_again
UPDATE deletion_stores SET done_at = NULL, reason = NULL WHERE store = ?1 AND deletion_id > ?2 AND deletion_id <= ?3
-- name: deletions.object_again
UPDATE deletion_stores SET done_at = NULL, reason = NULL
WHERE deletion_id IN (SELECT d.id FROM deletions d WHERE d.object_id = ?1 AND d.state <> 'begun') AND done_at IS NOT NULL
-- name: deletions.in_store_again
UPDATE deletion_stores SET done_at = NULL, reason = NULL WHERE object_id = ?1 AND store = ?2 AND done_at IS NOT NULL
    AND deletion_id IN (SELECT d.id FROM deletions d WHERE d.object_id = ?1 AND d.state <> 'begun')
-- name: deletions.take_again
UPDATE object_leases SET fence = fence + 1
WHERE object_id = ?1 AND owner <> ?2 AND EXISTS (SELECT 1 FROM deletions d WHERE d.object_id = ?1)
-- What is to be carried out again is settled, and not completed.
-- name: deletions.not_completed
UPDATE deletions SET state = 'settled', completed_at = NULL WHERE state = 'completed'
    AND EXISTS (SELECT 1 FROM deletion_stores s WHERE s.deletion_id = deletions.id AND s.object_id = ?1 AND s.done_at IS NULL)
    AND object_id = ?1
-- name: deletions.page_not_completed
UPDATE deletions SET state = 'settled', completed_at = NULL WHERE state = 'completed' AND id > ?2 AND id <= ?3
    AND EXISTS (SELECT 1 FROM deletion_stores s WHERE s.deletion_id = deletions.id AND s.store = ?1 AND s.done_at IS NULL)
-- name: deletions.page_of_store
SELECT s.deletion_id FROM deletion_stores s WHERE s.store = ?1 AND s.deletion_id > ?2 ORDER BY s.deletion_id LIMIT ?3
-- name: deletions.settle
UPDATE deletions SET state = 'settled', settled_at = ?2 WHERE id = ?1 AND state = 'begun'
-- name: deletions.complete
UPDATE deletions SET state = 'completed', completed_at = ?2 WHERE id = ?1 AND state = 'settled'
    AND NOT EXISTS (SELECT 1 FROM deletion_stores s WHERE s.deletion_id = ?1 AND s.done_at IS NULL)
-- name: deletions.set_object
UPDATE objects SET state = 'deleted', files = 0, bytes = 0, updated_at = ?2 WHERE id = ?1 AND generation = ?3
-- name: deletions.set_head
UPDATE objects SET state = 'deleted', head = ?3, files = 0, bytes = 0 WHERE id = ?1 AND generation = ?2 AND head < ?3
-- name: deletions.set_totals_of_object
UPDATE objects SET files = ?3, bytes = ?4, updated_at = ?5 WHERE id = ?1 AND generation = ?2
-- name: deletions.insert_version
INSERT INTO versions (id, object_id, generation, number, state, item_id, message, user_name, description, created_at,
    inventory_sha512, files, bytes, published_at, owns_contents)
VALUES (?1, ?2, ?3, ?4, 'published', ?5, ?6, ?7, ?8, ?9, ?10, 0, 0, ?11, ?12)
ON CONFLICT DO NOTHING
-- name: deletions.set_inventory
UPDATE versions SET inventory_sha512 = ?4, files = ?5, bytes = ?6
WHERE object_id = ?1 AND generation = ?2 AND number = ?3 AND state = 'published'
-- name: deletions.file_of_path
SELECT id FROM files WHERE object_id = ?1 AND path = ?2
-- name: deletions.keep_entries
INSERT INTO deleted_entries (file_id, content_id)
SELECT DISTINCT e.file_id, e.content_id FROM entries e
WHERE e.file_id = ?3 AND e.object_id = ?1 AND e.generation = ?2 AND e.version <= ?4 AND e.content_id IS NOT NULL
ON CONFLICT DO NOTHING
-- name: deletions.remove_entries
DELETE FROM entries WHERE file_id = ?3 AND object_id = ?1 AND generation = ?2 AND version <= ?4 AND content_id IS NOT NULL
-- name: deletions.keep_content
INSERT INTO deleted_contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, deleted_at)
SELECT c.id, c.object_id, c.generation, c.sha512, c.size, c.md5, c.sha1, c.sha256, c.version,
    (SELECT max(d.begun_at) FROM deletions d WHERE d.object_id = ?1 AND d.generation = ?2)
FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.sha512 = ?3 AND c.version <= ?4
    AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.content_id = c.id)
ON CONFLICT DO NOTHING
-- name: deletions.remove_copies
DELETE FROM copies WHERE content_id IN (SELECT c.id FROM contents c
    WHERE c.object_id = ?1 AND c.generation = ?2 AND c.sha512 = ?3 AND c.version <= ?4
        AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.content_id = c.id))
-- name: deletions.remove_content
DELETE FROM contents WHERE object_id = ?1 AND generation = ?2 AND sha512 = ?3 AND version <= ?4
    AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.content_id = contents.id)
-- name: deletions.keep_all_entries
INSERT INTO deleted_entries (file_id, content_id)
SELECT e.file_id, e.content_id FROM entries e
WHERE e.object_id = ?1 AND e.generation = ?2 AND e.content_id IS NOT NULL AND (e.version, e.file_id) IN (SELECT x.version, x.file_id
    FROM entries x WHERE x.object_id = ?1 AND x.generation = ?2 AND x.version <= ?3 ORDER BY x.version, x.file_id LIMIT ?4)
ON CONFLICT DO NOTHING
-- name: deletions.remove_all_entries
DELETE FROM entries WHERE object_id = ?1 AND generation = ?2 AND (version, file_id) IN (SELECT e.version, e.file_id FROM entries e
    WHERE e.object_id = ?1 AND e.generation = ?2 AND e.version <= ?3 ORDER BY e.version, e.file_id LIMIT ?4)
-- name: deletions.keep_all_contents
INSERT INTO deleted_contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, deleted_at)
SELECT c.id, c.object_id, c.generation, c.sha512, c.size, c.md5, c.sha1, c.sha256, c.version,
    (SELECT max(d.begun_at) FROM deletions d WHERE d.object_id = ?1 AND d.generation = ?2)
FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3 ORDER BY c.sha512 LIMIT ?4
ON CONFLICT DO NOTHING
-- name: deletions.remove_all_copies
DELETE FROM copies WHERE content_id IN (SELECT c.id FROM contents c
    WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3 ORDER BY c.sha512 LIMIT ?4)
-- name: deletions.remove_all_contents
DELETE FROM contents WHERE id IN (SELECT c.id FROM contents c
    WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3 ORDER BY c.sha512 LIMIT ?4)
-- name: deletions.keep_recorded
INSERT INTO deleted_contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT DO NOTHING
-- name: deletions.keep_recorded_entry
INSERT INTO deleted_entries (file_id, content_id) VALUES (?1, ?2)
ON CONFLICT DO NOTHING
-- name: begun_deletions.of_object
SELECT d.item_id, d.object_id, o.identifier, d.files, d.begun_at FROM deletions d JOIN objects o ON o.id = d.object_id
WHERE d.object_id = ?1 AND d.state <> 'completed' ORDER BY d.id LIMIT ?2
-- name: begun_deletions.of_collection
SELECT d.item_id, d.object_id, o.identifier, d.files, d.begun_at FROM objects o JOIN deletions d ON d.object_id = o.id
WHERE o.collection_id = ?1 AND d.state <> 'completed' ORDER BY d.id LIMIT ?2
-- name: deletions.holders
SELECT store FROM object_copies WHERE object_id = ?1
UNION SELECT store FROM copies WHERE object_id = ?1 ORDER BY store
-- name: deletions.has_entries
SELECT 1 AS found FROM entries WHERE file_id = ?3 AND object_id = ?1 AND generation = ?2 AND content_id IS NOT NULL LIMIT 1
-- name: deletions.was_deleted
SELECT 1 AS found FROM deletions WHERE object_id = ?1 AND files IS NULL LIMIT 1
-- name: deletions.evidence
SELECT f.quarantine_key FROM findings f WHERE f.object_id = ?1 AND f.quarantine_key IS NOT NULL
    AND (EXISTS (SELECT 1 FROM deleted_contents d WHERE d.id = f.content_id) OR (?2 AND f.found_at <= ?3))
ORDER BY f.id
