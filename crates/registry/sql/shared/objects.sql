-- name: objects.insert
INSERT INTO objects (id, institution_id, collection_id, identifier, generation, state, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, 'new', ?6, ?6)
ON CONFLICT (institution_id, identifier) DO NOTHING
-- An object with the version that an item makes of it, where it makes one, and with its lease as the item sees it.
-- name: objects.with_version
SELECT {objects.columns},
    v.id AS version_id, v.object_id, v.generation AS version_generation, v.number, v.state AS version_state, v.item_id,
    v.message, v.user_name, v.inventory_sha512, v.description AS version_description, v.files AS version_files,
    v.bytes AS version_bytes, v.created_at AS version_created_at, v.published_at, v.owns_contents, v.record_head,
    v.swept_at, h.owner, h.fence, h.lease_until,
    EXISTS (SELECT 1 FROM versions x WHERE x.object_id = o.id AND x.state = 'committing' AND x.item_id <> ?1)
    OR EXISTS (SELECT 1 FROM deletions x WHERE x.object_id = o.id AND x.state = 'begun' AND coalesce(x.item_id, x.id) <> ?1)
    AS is_committed_by_other
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
LEFT JOIN versions v ON v.id = (SELECT x.id FROM versions x
    WHERE x.item_id = ?1 AND x.state NOT IN ('dropping', 'dropped') ORDER BY x.id DESC LIMIT 1)
LEFT JOIN object_leases h ON h.object_id = o.id
WHERE o.id = ?2
-- name: objects.publish
UPDATE objects SET state = 'active', head = ?2, files = ?3, bytes = ?4, title = ?5, description = ?6, access = ?7,
    placement = ?8, profile = ?9, source_organization = ?10, bag_group_identifier = ?11,
    internal_sender_identifier = ?12, internal_sender_description = ?13, updated_at = ?14,
    collection_id = coalesce(collection_id, ?15), profile_version = ?16, creator = ?17, date = ?18, layout = ?19,
    metadata = ?20, generation = ?21, placement_requested = ?22
WHERE id = ?1 AND generation <= ?21
-- The columns of a file with its content at one version.
-- list: files.columns
f.id, f.path, f.modified, c.id AS content_id, c.size, c.md5, c.sha1, c.sha256, c.sha512, e.puid, e.mime,
    e.format_name, e.format_version, e.format_method, e.format_basis, e.format_signatures, e.format_warning,
    e.format_others, e.version AS since, c.version AS stored_in
-- name: files.list
SELECT {files.columns}
FROM objects o
JOIN files f ON f.object_id = o.id
JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= ?5)
JOIN contents c ON c.id = e.content_id
WHERE o.id = ?1 AND f.path > ?2 AND f.path < ?3
ORDER BY f.path LIMIT ?4
-- The file that has a path at a version.
-- name: files.at
SELECT {files.columns}
FROM objects o
JOIN files f ON f.object_id = o.id
JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= ?3)
JOIN contents c ON c.id = e.content_id
WHERE o.id = ?1 AND f.path = ?2
-- name: contents.manifest
SELECT sha512, version, version_id FROM contents WHERE object_id = ?1 AND generation = ?2 AND version <= ?3
ORDER BY sha512
-- name: contents.get
SELECT c.id, c.object_id, c.generation, c.sha512, c.size, c.md5, c.sha1, c.sha256, c.version, o.institution_id,
    i.identifier AS institution_identifier
FROM contents c JOIN objects o ON o.id = c.object_id JOIN institutions i ON i.id = o.institution_id WHERE c.id = ?1
-- The paths of one content in the published versions of its object.
-- name: contents.paths
SELECT min(f.path) AS first_path, count(DISTINCT f.id) AS paths
FROM entries e JOIN objects o ON o.id = e.object_id JOIN files f ON f.id = e.file_id
WHERE e.content_id = ?1 AND (e.generation <> o.generation OR e.version <= o.head)
-- The same up to a version of its own, which need not be published.
-- name: contents.paths_within
SELECT min(f.path) AS first_path, count(DISTINCT f.id) AS paths
FROM entries e JOIN files f ON f.id = e.file_id
WHERE e.content_id = ?1 AND e.generation = ?2 AND e.version <= ?3
-- name: contents.uncopied
SELECT c.id, c.sha512, c.size, i.staging_key, i.staging_offset
FROM contents c LEFT JOIN interim_files i ON i.item_id = ?7 AND i.path =
    (SELECT x.path FROM interim_files x WHERE x.item_id = ?7 AND x.content_id = c.id LIMIT 1)
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version = ?3 AND c.sha512 > ?5
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?4)
ORDER BY c.sha512 LIMIT ?6
-- name: contents.brought
SELECT c.id, c.sha512, c.size, i.staging_key, i.staging_offset
FROM contents c LEFT JOIN interim_files i ON i.item_id = ?6 AND i.path =
    (SELECT x.path FROM interim_files x WHERE x.item_id = ?6 AND x.content_id = c.id LIMIT 1)
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version = ?3 AND c.sha512 > ?4
ORDER BY c.sha512 LIMIT ?5
-- name: versions.insert
INSERT INTO versions (id, object_id, generation, number, state, item_id, message, user_name, description, created_at,
    harvested_from, harvested_part)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
RETURNING id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
-- name: versions.of_item
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE item_id = ?1 AND state NOT IN ('dropping', 'dropped') ORDER BY id DESC LIMIT 1
-- The version that readers see of what an item has made, with the identifier of its object.
-- name: versions.published_of_item
SELECT v.id, v.number, v.published_at, o.identifier
FROM versions v JOIN objects o ON o.id = v.object_id
WHERE v.item_id = ?1 AND o.institution_id = ?2 AND v.state = 'published' AND v.published_at IS NOT NULL
ORDER BY v.id DESC LIMIT 1
-- name: versions.open_of_object
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE object_id = ?1 AND state IN ('preparing', 'committing') LIMIT 1
-- name: versions.list
SELECT v.id, v.object_id, v.generation, v.number, v.state, v.item_id, v.message, v.user_name, v.inventory_sha512,
    v.description, v.files, v.bytes, v.created_at, v.published_at, v.owns_contents, v.record_head, v.swept_at
FROM versions v
WHERE v.object_id = ?1 AND v.generation = ?2 AND v.state IN ('published', ?3) ORDER BY v.number
-- The published version before a number.
-- name: versions.before
SELECT v.id, v.object_id, v.generation, v.number, v.state, v.item_id, v.message, v.user_name, v.inventory_sha512,
    v.description, v.files, v.bytes, v.created_at, v.published_at, v.owns_contents, v.record_head, v.swept_at
FROM versions v
WHERE v.object_id = ?1 AND v.generation = ?2 AND v.state = 'published' AND v.number < ?3 ORDER BY v.number DESC LIMIT 1
-- name: versions.state
SELECT state FROM versions WHERE id = ?1
-- name: versions.discard
UPDATE versions SET state = 'dropping' WHERE id = ?1 AND state = 'preparing'
-- name: versions.discard_of_item
UPDATE versions SET state = 'dropping' WHERE item_id = ?1 AND state = 'preparing'
-- name: versions.drop
UPDATE versions SET state = 'dropped' WHERE id = ?1 AND state = 'dropping'
-- name: versions.swept
UPDATE versions SET swept_at = ?2 WHERE id = ?1 AND state = 'dropped' AND swept_at IS NULL
-- name: versions.unswept_of_object
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE object_id = ?1 AND state IN ('dropping', 'dropped') AND swept_at IS NULL ORDER BY id
-- name: versions.unswept_of_item
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE item_id = ?1 AND state IN ('dropping', 'dropped') AND swept_at IS NULL ORDER BY id
-- name: versions.swept_since
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE swept_at >= ?1 AND id > ?2 ORDER BY id LIMIT ?3
-- name: versions.sweep_again
UPDATE versions SET swept_at = ?2 WHERE id = ?1 AND state = 'dropped' AND swept_at IS NOT NULL
-- name: versions.sweep_again_of_item
UPDATE versions SET swept_at = ?2 WHERE item_id = ?1 AND state = 'dropped' AND swept_at IS NOT NULL
-- name: version_stores.list
SELECT store FROM version_stores WHERE version_id = ?1 ORDER BY store
-- name: version_stores.drop
DELETE FROM version_stores WHERE version_id = ?1
-- name: versions.get
SELECT id, object_id, generation, number, state, item_id, message, user_name, inventory_sha512, description, files,
    bytes, created_at, published_at, owns_contents, record_head, swept_at
FROM versions WHERE id = ?1
-- name: versions.freeze_record
UPDATE versions SET record_head = ?2 WHERE id = ?1 AND record_head IS NULL AND state = 'preparing'
-- name: versions.commit
UPDATE versions SET state = 'committing', inventory_sha512 = ?2, files = ?3, bytes = ?4
WHERE id = ?1 AND (state = 'preparing' OR (state = 'committing' AND inventory_sha512 = ?2))
-- name: versions.publish
UPDATE versions SET state = 'published', published_at = ?2, record_head = NULL WHERE id = ?1 AND state = 'committing'
-- name: events.of_version
SELECT e.id, e.institution_id, e.object_id, e.file_id, e.content_id, e.item_id, e.version, e.type, e.components, e.time,
    e.outcome, e.detail, e.outcome_detail, e.store, e.agent, e.actor_id, {actors.columns}
FROM events e LEFT JOIN actors a ON a.id = e.actor_id WHERE e.object_id = ?1 AND e.version = ?2 ORDER BY e.time, e.id
-- name: entries.state
SELECT c.sha512, f.path
FROM files f
JOIN entries e ON e.file_id = f.id AND e.generation = ?2 AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = ?2 AND x.version <= ?3)
JOIN contents c ON c.id = e.content_id
WHERE f.object_id = ?1
ORDER BY c.sha512, f.path
-- name: copies.of_content
SELECT store, key, class, state, stored_at, verified_at, last_fixity_at FROM copies WHERE content_id = ?1 ORDER BY store
-- name: copies.in_use
SELECT k.store, k.key, k.class, k.state, k.stored_at, k.verified_at, k.last_fixity_at FROM copies k
WHERE k.content_id = ?1 AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store)
ORDER BY k.store
-- name: object_copies.set_checked
UPDATE object_copies SET checked_at = ?3 WHERE object_id = ?1 AND store = ?2
-- name: object_copies.of_object
SELECT store, state, checked_at FROM object_copies WHERE object_id = ?1 ORDER BY store
-- name: object_copies.in_use
SELECT k.store, k.state, k.checked_at FROM object_copies k
WHERE k.object_id = ?1 AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store)
ORDER BY k.store
-- name: leases.get
SELECT owner, fence, lease_until FROM object_leases WHERE object_id = ?1
-- name: leases.look
SELECT (SELECT owner FROM object_leases WHERE object_id = ?1) AS owner,
    (SELECT fence FROM object_leases WHERE object_id = ?1) AS fence,
    (SELECT lease_until FROM object_leases WHERE object_id = ?1) AS lease_until,
    EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1 AND v.state = 'committing' AND v.item_id <> ?2)
    OR EXISTS (SELECT 1 FROM deletions d WHERE d.object_id = ?1 AND d.state = 'begun' AND coalesce(d.item_id, d.id) <> ?2)
    AS is_committed_by_other
-- name: leases.put
INSERT INTO object_leases (object_id, owner, fence, lease_until) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (object_id) DO UPDATE SET owner = ?2, fence = ?3, lease_until = ?4
-- name: leases.extend_owner
UPDATE object_leases SET lease_until = ?2 WHERE owner = ?1 AND lease_until > 0
-- name: leases.release_owner
UPDATE object_leases SET lease_until = 0 WHERE owner = ?1 AND lease_until > 0 RETURNING object_id
-- name: leases.live
SELECT count(*) AS leases FROM object_leases WHERE lease_until > ?1
-- name: events.count_of_file
SELECT count(*) AS events FROM events WHERE file_id = ?1 AND type = ?2
-- name: events.drop
DELETE FROM events WHERE id IN
    (SELECT id FROM events WHERE object_id = ?1 AND version = ?2 AND item_id = ?4 LIMIT ?3)
-- name: entries.of_version
SELECT file_id FROM entries WHERE object_id = ?1 AND generation = ?2 AND version = ?3
    AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1 AND v.generation = ?2 AND v.number = ?3
        AND v.id <> ?5 AND v.state NOT IN ('dropping', 'dropped'))
LIMIT ?4
-- name: copies.drop
DELETE FROM copies WHERE content_id IN (SELECT k.content_id FROM contents c JOIN copies k ON k.content_id = c.id
    WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version = ?3
        AND (c.version_id = ?5 OR (c.version_id IS NULL AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1
            AND v.generation = ?2 AND v.number = ?3 AND v.id <> ?5 AND v.state NOT IN ('dropping', 'dropped')))) LIMIT ?4)
-- name: contents.drop
DELETE FROM contents WHERE id IN (SELECT c.id FROM contents c
    WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version = ?3
        AND (c.version_id = ?5 OR (c.version_id IS NULL AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.object_id = ?1
            AND v.generation = ?2 AND v.number = ?3 AND v.id <> ?5 AND v.state NOT IN ('dropping', 'dropped')))) LIMIT ?4)
-- name: versions.removals
SELECT f.id, f.path FROM entries e JOIN files f ON f.id = e.file_id
WHERE e.object_id = ?1 AND e.generation = ?2 AND e.version = ?3 AND e.content_id IS NULL AND f.path > ?4
ORDER BY f.path LIMIT ?5
-- name: entries.insert_removals
INSERT INTO entries (object_id, file_id, generation, version, content_id)
SELECT ?1, r.file_id, ?2, ?3, NULL FROM interim_removals r WHERE r.item_id = ?4 AND r.path > ?5 AND r.path <= ?6
ON CONFLICT DO NOTHING
