-- The columns of an object as it is read from a row.
-- list: objects.columns
o.id, o.institution_id, i.identifier AS institution_identifier, c.identifier AS collection_identifier,
    o.identifier, o.generation, o.state, o.title, o.description, o.access, o.ark, o.placement, o.placement_requested, o.profile,
    o.profile_version, o.creator, o.date, o.layout, o.metadata, o.source_organization, o.bag_group_identifier, o.internal_sender_identifier,
    o.internal_sender_description, o.head, o.files, o.bytes, o.created_at, o.updated_at,
    (SELECT json_group_array(l.local_id ORDER BY l.local_id) FROM local_ids l WHERE l.object_id = o.id) AS local_ids
-- name: objects.by_identifier
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.identifier = ?1 AND (?2 IS NULL OR o.institution_id = ?2)
-- name: objects.by_ends
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.identifier >= ?1 AND o.identifier < ?1 || char(1114111)
    AND length(o.identifier) >= length(?1) + length(?2)
    AND substr(o.identifier, length(o.identifier) - length(?2) + 1) = ?2
    AND (?3 IS NULL OR o.institution_id = ?3) AND o.state <> 'new'
ORDER BY o.identifier LIMIT ?4
-- name: objects.get
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id = ?1 AND (?2 IS NULL OR o.institution_id = ?2)
-- name: objects.list
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id > ?1 AND (?2 IS NULL OR o.institution_id = ?2) AND o.state <> 'new' AND (?3 IS NULL OR o.state = ?3)
    AND (?4 IS NULL OR c.identifier = ?4) AND (?5 IS NULL OR o.created_at >= ?5)
ORDER BY o.id LIMIT ?6
-- name: objects.newest
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id < ?1 AND (?2 IS NULL OR o.institution_id = ?2) AND o.state <> 'new' AND (?3 IS NULL OR o.state = ?3)
    AND (?4 IS NULL OR c.identifier = ?4) AND (?5 IS NULL OR o.created_at >= ?5)
ORDER BY o.id DESC LIMIT ?6
-- name: files.insert
INSERT INTO files (id, object_id, path, modified, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING
-- name: files.get
SELECT f.id, f.object_id, f.path FROM files f JOIN objects o ON o.id = f.object_id
WHERE f.id = ?1 AND (?2 IS NULL OR o.institution_id = ?2)
-- name: files.one
SELECT {files.columns}
FROM objects o
JOIN files f ON f.object_id = o.id
JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= coalesce(?3, o.head))
JOIN contents c ON c.id = e.content_id
WHERE f.id = ?1 AND (?2 IS NULL OR o.institution_id = ?2)
-- name: contents.insert
INSERT INTO contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at, version_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT DO NOTHING
-- name: entries.insert
INSERT INTO entries (object_id, file_id, generation, version, content_id, puid, mime, format_name, format_version,
    format_method, format_basis, format_signatures, format_warning, format_others)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT DO NOTHING
-- name: copies.insert
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, state, stored_at, checked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'kept', ?7, ?7)
ON CONFLICT DO NOTHING
-- name: copies.unverified
SELECT k.content_id, k.key, c.sha512, c.size, c.sha256 FROM copies k CROSS JOIN contents c ON c.id = k.content_id
WHERE k.object_id = ?1 AND k.store = ?2 AND c.generation = ?3 AND c.version = ?4 AND k.verified_at IS NULL
    AND k.content_id > ?5
ORDER BY k.content_id LIMIT ?6
-- name: copies.verified
UPDATE copies SET verified_at = ?3, checked_at = ?3, last_fixity_at = ?3 WHERE content_id = ?1 AND store = ?2
-- name: copies.attested
UPDATE copies SET verified_at = ?3, checked_at = ?3, attested_at = ?3 WHERE content_id = ?1 AND store = ?2
-- name: copies.of_deposit
SELECT c.id, c.sha512, c.size, c.version, c.version_id, k.key, k.state, k.verified_at, i.staging_key, i.staging_offset
FROM interim_files i JOIN contents c ON c.id = i.content_id AND c.version <= ?3
LEFT JOIN copies k ON k.content_id = c.id AND k.store = ?2
WHERE i.item_id = ?1 AND i.content_id IS NOT NULL
    AND i.path = (SELECT min(x.path) FROM interim_files x WHERE x.item_id = ?1 AND x.content_id = i.content_id)
ORDER BY k.key
-- name: events.insert
INSERT INTO events (id, institution_id, object_id, file_id, content_id, item_id, version, type, components, time, outcome,
    detail, outcome_detail, agent, actor_id, store)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
ON CONFLICT DO NOTHING
-- name: events.of_object
SELECT e.id, e.institution_id, e.object_id, e.file_id, e.content_id, e.item_id, e.version, e.type, e.components, e.time,
    e.outcome, e.detail, e.outcome_detail, e.store, e.agent, f.path, coalesce(c.md5, d.md5) AS md5,
    coalesce(c.sha1, d.sha1) AS sha1, coalesce(c.sha256, d.sha256) AS sha256, coalesce(c.sha512, d.sha512) AS sha512,
    e.actor_id, {actors.columns}
FROM events e JOIN objects o ON o.id = e.object_id LEFT JOIN files f ON f.id = e.file_id
LEFT JOIN contents c ON c.id = e.content_id
LEFT JOIN deleted_contents d ON d.id = e.content_id
LEFT JOIN actors a ON a.id = e.actor_id
WHERE e.object_id = ?1 AND (?2 IS NULL OR o.institution_id = ?2) AND (e.version IS NULL OR e.version <= o.head
        OR e.time <= (SELECT max(x.begun_at) FROM deletions x WHERE x.object_id = o.id AND x.files IS NULL AND x.generation <> o.generation))
    AND (e.time > ?3 OR (e.time = ?3 AND e.id > ?4)) AND (?5 IS NULL OR e.file_id = ?5
        OR (e.file_id IS NULL AND (e.content_id IN (SELECT x.content_id FROM entries x WHERE x.file_id = ?5)
            OR e.content_id IN (SELECT x.content_id FROM deleted_entries x WHERE x.file_id = ?5)
            OR (e.content_id IS NULL AND e.components IS NOT NULL))))
ORDER BY e.time, e.id LIMIT ?6
-- name: entries.drop
DELETE FROM entries WHERE object_id = ?1 AND generation = ?2 AND version = ?3 AND file_id = ?4
-- name: files.drop_unused
DELETE FROM files WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.file_id = files.id)
-- No other transaction writes at the same time.
-- name: versions.lock_state
SELECT state FROM versions WHERE id = ?1
-- name: versions.totals
SELECT count(*) AS files, coalesce(sum(c.size), 0) AS bytes
FROM files f
JOIN entries e ON e.file_id = f.id AND e.generation = ?2 AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = ?2 AND x.version <= ?3)
JOIN contents c ON c.id = e.content_id
WHERE f.object_id = ?1 AND f.path > 'deposit/' AND f.path < 'deposit0'
-- name: contents.by_digest
SELECT id, version FROM contents WHERE object_id = ?1 AND generation = ?2 AND sha512 = ?3
-- name: files.current
SELECT f.id AS file_id, c.id AS content_id, c.sha512, c.size
FROM objects o
JOIN files f ON f.object_id = o.id
LEFT JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= o.head)
LEFT JOIN contents c ON c.id = e.content_id
WHERE o.id = ?1 AND f.path = ?2
-- name: copies.unproved
UPDATE copies SET verified_at = NULL, attested_at = NULL, last_fixity_at = NULL WHERE content_id = ?1 AND store = ?2
-- name: copies.forget
DELETE FROM copies WHERE content_id = ?1 AND store = ?2
-- name: version_stores.insert
INSERT INTO version_stores (version_id, store) VALUES (?1, ?2) ON CONFLICT DO NOTHING
-- name: local_ids.insert
INSERT INTO local_ids (object_id, local_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING
-- name: versions.any_verified_missing
SELECT count(*) AS unproved FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version = ?3
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?4 AND k.verified_at IS NOT NULL)
-- What was known of an object in a store stays known: a new version says nothing of the inventories of earlier ones. Known
-- damage is due at once.
-- name: object_copies.insert
INSERT INTO object_copies (object_id, store, institution_id, generation, state, checked_at, last_fixity_at)
VALUES (?1, ?2, ?3, ?4, 'kept', ?5, ?5)
ON CONFLICT (object_id, store) DO UPDATE SET
    state = CASE WHEN object_copies.generation = ?4 THEN object_copies.state ELSE 'kept' END,
    checked_at = CASE WHEN object_copies.generation <> ?4 THEN ?5 ELSE 0 END,
    last_fixity_at = CASE WHEN object_copies.generation = ?4 THEN object_copies.last_fixity_at ELSE ?5 END,
    generation = ?4
WHERE object_copies.generation <> ?4 OR object_copies.state <> 'kept'
