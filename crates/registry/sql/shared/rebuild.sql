-- name: rebuild.in_use
SELECT EXISTS (SELECT 1 FROM objects) AS has_objects, EXISTS (SELECT 1 FROM work_items) AS has_work_items,
    EXISTS (SELECT 1 FROM batches) AS has_batches
-- name: rebuild.rename_institution
UPDATE institutions SET identifier = ?2 WHERE id = ?1
-- name: rebuild.insert_institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
-- name: rebuild.move_collections
UPDATE collections SET institution_id = ?2 WHERE institution_id = ?1
-- name: rebuild.drop_institution
DELETE FROM institutions WHERE id = ?1
-- name: rebuild.insert_object
INSERT INTO objects (id, institution_id, collection_id, identifier, generation, state, ark, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, 'new', ?6, ?7, ?7)
ON CONFLICT DO NOTHING
-- name: rebuild.set_generation
UPDATE objects SET generation = ?2 WHERE id = ?1 AND generation < ?2
-- name: rebuild.insert_version
INSERT INTO versions (id, object_id, generation, number, state, item_id, message, user_name, description, created_at,
    owns_contents, harvested_from, harvested_part)
VALUES (?1, ?2, ?3, ?4, 'preparing', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT DO NOTHING
-- name: rebuild.publish_version
UPDATE versions SET state = 'published', inventory_sha512 = ?4, files = ?5, bytes = ?6, published_at = created_at,
    record_head = NULL
WHERE id = ?1 AND object_id = ?2 AND generation = ?3 AND number = ?7 AND state IN ('preparing', 'committing')
-- name: rebuild.set_state
UPDATE objects SET state = ?2 WHERE id = ?1
-- name: rebuild.of_generation
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE generation = ?1 AND state NOT IN ('dropping', 'dropped') ORDER BY number
-- name: rebuild.unswept_of_generation
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE generation = ?1 AND state IN ('dropping', 'dropped') AND swept_at IS NULL ORDER BY number
-- name: rebuild.number_taken
SELECT id, state FROM versions WHERE object_id = ?1 AND generation = ?2 AND number = ?3 AND swept_at IS NULL
-- name: rebuild.forget_version
DELETE FROM versions WHERE id = ?1 AND state = 'dropped'
-- name: rebuild.has_event
SELECT 1 AS found FROM events WHERE id = ?1
-- name: rebuild.clear_leases
UPDATE object_leases SET lease_until = 0 WHERE lease_until > 0
-- name: rebuild.uncopied
SELECT c.id, c.sha512, c.size, c.version, c.created_at, c.version_id FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.sha512 > ?3
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?5)
ORDER BY c.sha512 LIMIT ?4
-- name: rebuild.insert_object_copy
INSERT INTO object_copies (object_id, store, institution_id, generation, state, checked_at)
VALUES (?1, ?2, ?3, ?4, 'kept', 0)
ON CONFLICT (object_id, store) DO UPDATE SET generation = ?4 WHERE object_copies.generation < ?4
-- name: rebuild.drop_events
DELETE FROM events WHERE id IN (SELECT e.id FROM events e WHERE e.object_id = ?1 AND EXISTS
    (SELECT 1 FROM versions v WHERE v.object_id = ?1 AND v.generation = ?2 AND v.state = 'preparing'
        AND (e.version IS NULL OR e.version = v.number))
    AND EXISTS (SELECT 1 FROM objects o WHERE o.id = ?1 AND o.state = 'new') LIMIT ?3)
-- name: rebuild.drop_entries
DELETE FROM entries WHERE object_id = ?1 AND generation = ?2 AND (version, file_id) IN
    (SELECT version, file_id FROM entries WHERE object_id = ?1 AND generation = ?2 LIMIT ?3)
-- name: rebuild.drop_copies
DELETE FROM copies WHERE (content_id, store) IN (SELECT k.content_id, k.store FROM contents c
    JOIN copies k ON k.content_id = c.id WHERE c.object_id = ?1 AND c.generation = ?2 LIMIT ?3)
-- name: rebuild.drop_contents
DELETE FROM contents WHERE id IN (SELECT id FROM contents WHERE object_id = ?1 AND generation = ?2 LIMIT ?3)
-- name: rebuild.drop_deleted_entries
DELETE FROM deleted_entries WHERE (file_id, content_id) IN (SELECT d.file_id, d.content_id FROM deleted_contents c
    JOIN deleted_entries d ON d.content_id = c.id WHERE c.object_id = ?1 AND c.generation = ?2
    AND EXISTS (SELECT 1 FROM objects o WHERE o.id = ?1 AND o.state = 'new') LIMIT ?3)
-- name: rebuild.drop_deleted_contents
DELETE FROM deleted_contents WHERE id IN (SELECT c.id FROM deleted_contents c WHERE c.object_id = ?1 AND c.generation = ?2
    AND EXISTS (SELECT 1 FROM objects o WHERE o.id = ?1 AND o.state = 'new') LIMIT ?3)
-- name: rebuild.drop_files
DELETE FROM files WHERE id IN (SELECT f.id FROM files f WHERE f.object_id = ?1
    AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.file_id = f.id)
    AND EXISTS (SELECT 1 FROM objects o WHERE o.id = ?1 AND o.state = 'new') LIMIT ?2)
-- name: rebuild.drop_versions
DELETE FROM versions WHERE object_id = ?1 AND generation = ?2 AND state = 'preparing'
-- name: rebuild.drop_lease
DELETE FROM object_leases WHERE object_id = ?1
    AND EXISTS (SELECT 1 FROM objects o WHERE o.id = ?1 AND o.state = 'new')
    AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM files f WHERE f.object_id = ?1)
-- name: rebuild.drop_object
DELETE FROM objects WHERE id = ?1 AND state = 'new' AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM files f WHERE f.object_id = ?1)
-- name: epoch.raise
INSERT INTO registry_facts (name, value) VALUES (?1, '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(registry_facts.value AS BIGINT) + 1 AS TEXT)
-- name: epoch.facts
SELECT name, value FROM registry_facts WHERE name IN (?1, ?2, ?3, ?4)
-- name: epoch.name
INSERT INTO registry_facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING
-- name: rebuild.objects_in_store
SELECT k.object_id, k.generation, i.identifier FROM object_copies k
JOIN institutions i ON i.id = k.institution_id
WHERE k.object_id > ?2 AND k.store = ?1 ORDER BY k.object_id LIMIT ?3
-- name: rebuild.stored_object
SELECT k.object_id, k.generation, i.identifier FROM object_copies k
JOIN institutions i ON i.id = k.institution_id WHERE k.object_id = ?2 AND k.store = ?1
-- name: rebuild.open_generations
SELECT i.identifier, v.generation FROM work_items w JOIN versions v ON v.item_id = w.id
JOIN objects o ON o.id = v.object_id JOIN institutions i ON i.id = o.institution_id
WHERE w.status IN ('pending', 'started', 'held') AND v.state IN ('preparing', 'committing')
-- name: rebuild.insert_removal
INSERT INTO entries (object_id, file_id, generation, version, content_id)
SELECT ?1, f.id, ?3, ?4, NULL FROM files f WHERE f.id = ?2 AND f.object_id = ?1
ON CONFLICT DO NOTHING
