-- What is kept, for manifests and for the catalogues of the stores.
-- list: manifests.object
o.id, o.identifier, o.generation, o.head, i.identifier AS institution_identifier, c.identifier AS collection_identifier
-- list: manifests.is_in_use
NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store)
-- name: manifests.objects
SELECT {manifests.object}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id > ?1 AND coalesce(?2, o.institution_id) = o.institution_id AND o.state = 'active' AND o.head > 0 ORDER BY o.id LIMIT ?3
-- name: manifests.objects_of_collection
SELECT {manifests.object}
FROM objects o JOIN institutions i ON i.id = o.institution_id JOIN collections c ON c.id = o.collection_id
WHERE o.collection_id = ?4 AND o.id > ?1 AND coalesce(?2, o.institution_id) = o.institution_id AND o.state = 'active' AND o.head > 0
ORDER BY o.id LIMIT ?3
-- The files of an object up to a version, in the order of their paths: as they are in that version, or with every content that they have had.
-- name: manifests.files
SELECT f.path, e.version, e.content_id, e.puid, e.mime, c.size, c.md5, c.sha1, c.sha256, c.sha512
FROM files f JOIN entries e ON e.file_id = f.id AND e.generation = ?2 AND e.version <= ?3
JOIN contents c ON c.id = e.content_id
WHERE f.object_id = ?1 AND f.path >= ?4 AND (f.path > ?4 OR e.version > ?5)
    AND (?6 OR e.version =
        (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = ?2 AND x.version <= ?3))
ORDER BY f.path, e.version LIMIT ?7
-- The same with the copies in stores that are in use; in one store where it is named.
-- name: manifests.copies
SELECT p.path, p.version, p.puid, p.mime, p.size, p.md5, p.sha1, p.sha256, p.sha512, v.published_at, k.store, k.key, k.state,
    k.stored_at, k.verified_at, k.last_fixity_at
FROM (SELECT f.path, e.version, e.content_id, e.puid, e.mime, c.size, c.md5, c.sha1, c.sha256, c.sha512
FROM files f JOIN entries e ON e.file_id = f.id AND e.generation = ?2 AND e.version <= ?3
JOIN contents c ON c.id = e.content_id
WHERE f.object_id = ?1 AND f.path >= ?4 AND (f.path > ?4 OR e.version > ?5)
    AND (?6 OR e.version =
        (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = ?2 AND x.version <= ?3))
ORDER BY f.path, e.version LIMIT ?7) AS p
LEFT JOIN versions v ON v.object_id = ?1 AND v.generation = ?2 AND v.number = p.version AND v.state = 'published'
LEFT JOIN copies k ON k.content_id = p.content_id AND coalesce(?8, k.store) = k.store AND {manifests.is_in_use}
ORDER BY p.path, p.version, k.store
-- What a store holds of an object up to a version: each content once.
-- name: manifests.contents
SELECT k.key, c.size, c.md5, c.sha1, c.sha256, c.sha512,
    (SELECT e.mime FROM entries e WHERE e.content_id = c.id ORDER BY e.version, e.file_id LIMIT 1) AS mime
FROM contents c JOIN copies k ON k.content_id = c.id AND k.store = ?4
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3 AND c.sha512 > ?5 ORDER BY c.sha512 LIMIT ?6
-- The objects of an institution that a store holds, in the order of their identifiers.
-- name: manifests.objects_in_store
SELECT o.id, o.identifier, o.generation, o.head, o.title, o.ark, o.files, o.bytes, o.created_at, o.updated_at,
    c.identifier AS collection_identifier, EXISTS (SELECT 1 FROM local_ids l WHERE l.object_id = o.id) AS has_local_ids
FROM objects o JOIN object_copies k ON k.object_id = o.id AND k.store = ?1 AND k.generation = o.generation
LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.institution_id = ?2 AND o.identifier > ?3 AND o.state = 'active' AND o.head > 0 ORDER BY o.identifier LIMIT ?4
-- name: manifests.local_ids
SELECT local_id FROM local_ids WHERE object_id = ?1 ORDER BY local_id LIMIT ?2
