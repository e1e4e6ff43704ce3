-- The columns of an object as it is read from a row.
-- list: objects.columns
o.id, o.institution_id, i.identifier AS institution_identifier, c.identifier AS collection_identifier,
    o.identifier, o.generation, o.state, o.title, o.description, o.access, o.ark, o.placement, o.placement_requested, o.profile,
    o.profile_version, o.creator, o.date, o.layout, o.metadata, o.source_organization, o.bag_group_identifier, o.internal_sender_identifier,
    o.internal_sender_description, o.head, o.files, o.bytes, o.created_at, o.updated_at,
    coalesce((SELECT json_agg(l.local_id ORDER BY l.local_id) FROM local_ids l WHERE l.object_id = o.id)::text, '[]')
    AS local_ids
-- name: objects.by_identifier
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.identifier = $1 AND ($2::uuid IS NULL OR o.institution_id = $2)
-- name: objects.by_ends
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.identifier >= $1::text AND o.identifier < $1::text || chr(1114111)
    AND length(o.identifier) >= length($1::text) + length($2::text)
    AND substr(o.identifier, length(o.identifier) - length($2::text) + 1) = $2
    AND ($3::uuid IS NULL OR o.institution_id = $3) AND o.state <> 'new'
ORDER BY o.identifier LIMIT $4
-- name: objects.get
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id = $1 AND ($2::uuid IS NULL OR o.institution_id = $2)
-- name: objects.list
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id > $1 AND ($2::uuid IS NULL OR o.institution_id = $2) AND o.state <> 'new' AND ($3::text IS NULL OR o.state = $3)
    AND ($4::text IS NULL OR c.identifier = $4) AND ($5::bigint IS NULL OR o.created_at >= $5)
ORDER BY o.id LIMIT $6
-- name: objects.newest
SELECT {objects.columns}
FROM objects o JOIN institutions i ON i.id = o.institution_id LEFT JOIN collections c ON c.id = o.collection_id
WHERE o.id < $1 AND ($2::uuid IS NULL OR o.institution_id = $2) AND o.state <> 'new' AND ($3::text IS NULL OR o.state = $3)
    AND ($4::text IS NULL OR c.identifier = $4) AND ($5::bigint IS NULL OR o.created_at >= $5)
ORDER BY o.id DESC LIMIT $6
-- name: files.insert
INSERT INTO files (id, object_id, path, modified, created_at)
SELECT id, object_id, path, modified, created_at FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[],
    $5::bigint[]) AS new (id, object_id, path, modified, created_at)
ON CONFLICT DO NOTHING
-- name: files.get
SELECT f.id, f.object_id, f.path FROM files f JOIN objects o ON o.id = f.object_id
WHERE f.id = $1 AND ($2::uuid IS NULL OR o.institution_id = $2)
-- name: files.one
SELECT {files.columns}
FROM objects o
JOIN files f ON f.object_id = o.id
JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= coalesce($3::bigint, o.head))
JOIN contents c ON c.id = e.content_id
WHERE f.id = $1 AND ($2::uuid IS NULL OR o.institution_id = $2)
-- name: contents.insert
INSERT INTO contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at, version_id)
SELECT id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at, version_id FROM unnest($1::uuid[],
    $2::uuid[], $3::uuid[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[],
    $10::bigint[], $11::uuid[])
    AS new (id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at, version_id)
ON CONFLICT DO NOTHING
-- name: entries.insert
INSERT INTO entries (object_id, file_id, generation, version, content_id, puid, mime, format_name,
    format_version, format_method, format_basis, format_signatures, format_warning, format_others)
SELECT object_id, file_id, generation, version, content_id, puid, mime, format_name, format_version,
    format_method, format_basis, format_signatures, format_warning, format_others FROM unnest($1::uuid[],
    $2::uuid[], $3::uuid[], $4::bigint[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[]) AS new (object_id, file_id, generation,
    version, content_id, puid, mime, format_name, format_version, format_method, format_basis,
    format_signatures, format_warning, format_others)
ON CONFLICT DO NOTHING
-- name: copies.insert
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, stored_at, state, checked_at)
SELECT content_id, store, institution_id, object_id, key, class, stored_at, 'kept', stored_at FROM
    unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[]) AS new
    (content_id, store, institution_id, object_id, key, class, stored_at)
ON CONFLICT DO NOTHING
-- name: copies.unverified
SELECT k.content_id, k.key, c.sha512, c.size, c.sha256 FROM copies k JOIN contents c ON c.id = k.content_id
WHERE k.object_id = $1 AND k.store = $2 AND c.generation = $3 AND c.version = $4 AND k.verified_at IS NULL
    AND k.content_id > $5
ORDER BY k.content_id LIMIT $6
-- name: copies.verified
UPDATE copies SET verified_at = proved.time, checked_at = proved.time, last_fixity_at = proved.time
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS proved (content_id, store, time)
WHERE copies.content_id = proved.content_id AND copies.store = proved.store
-- name: copies.attested
UPDATE copies SET verified_at = proved.time, checked_at = proved.time, attested_at = proved.time
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS proved (content_id, store, time)
WHERE copies.content_id = proved.content_id AND copies.store = proved.store
-- name: copies.of_deposit
SELECT c.id, c.sha512, c.size, c.version, c.version_id, k.key, k.state, k.verified_at, i.staging_key, i.staging_offset
FROM interim_files i JOIN contents c ON c.id = i.content_id AND c.version <= $3
LEFT JOIN copies k ON k.content_id = c.id AND k.store = $2
WHERE i.item_id = $1 AND i.content_id IS NOT NULL
    AND i.path = (SELECT min(x.path) FROM interim_files x WHERE x.item_id = $1 AND x.content_id = i.content_id)
ORDER BY k.key COLLATE "C"
-- name: events.insert
INSERT INTO events (id, institution_id, object_id, file_id, content_id, item_id, version, type, components, time,
    outcome, detail, outcome_detail, agent, actor_id, store)
SELECT id, institution_id, object_id, file_id, content_id, item_id, version, type, components, time, outcome,
    detail, outcome_detail, agent, actor_id, store FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[],
    $6::uuid[], $7::bigint[], $8::text[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[],
    $14::text[], $15::uuid[], $16::text[]) AS new (id, institution_id, object_id, file_id, content_id, item_id, version, type,
    components, time, outcome, detail, outcome_detail, agent, actor_id, store)
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
WHERE e.object_id = $1 AND ($2::uuid IS NULL OR o.institution_id = $2) AND (e.version IS NULL OR e.version <= o.head
        OR e.time <= (SELECT max(x.begun_at) FROM deletions x WHERE x.object_id = o.id AND x.files IS NULL AND x.generation <> o.generation))
    AND (e.time > $3 OR (e.time = $3 AND e.id > $4)) AND ($5::uuid IS NULL OR e.file_id = $5
        OR (e.file_id IS NULL AND (e.content_id IN (SELECT x.content_id FROM entries x WHERE x.file_id = $5)
            OR e.content_id IN (SELECT x.content_id FROM deleted_entries x WHERE x.file_id = $5)
            OR (e.content_id IS NULL AND e.components IS NOT NULL))))
ORDER BY e.time, e.id LIMIT $6
-- name: entries.drop
DELETE FROM entries
USING unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[]) AS gone (object_id, generation, version, file_id)
WHERE entries.object_id = gone.object_id AND entries.generation = gone.generation AND entries.version = gone.version
    AND entries.file_id = gone.file_id
-- name: files.drop_unused
DELETE FROM files
WHERE id = ANY ($1::uuid[]) AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.file_id = files.id)
-- The state of a version, which keeps it until the end of the transaction; until then no store is replaced either.
-- name: versions.lock_state
SELECT v.state
FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema() || '.stores.replacements', 0))) AS kept
CROSS JOIN versions v
WHERE v.id = $1 FOR SHARE OF v
-- name: versions.totals
SELECT count(*) AS files, coalesce(sum(c.size), 0)::bigint AS bytes
FROM files f
JOIN entries e ON e.file_id = f.id AND e.generation = $2 AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = $2 AND x.version <= $3)
JOIN contents c ON c.id = e.content_id
WHERE f.object_id = $1 AND f.path > 'deposit/' AND f.path < 'deposit0'
-- name: contents.by_digest
SELECT wanted.place, c.id, c.version
FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) WITH ORDINALITY AS wanted (object_id, generation, sha512, place)
JOIN contents c ON c.object_id = wanted.object_id AND c.generation = wanted.generation AND c.sha512 = wanted.sha512
-- name: files.current
SELECT wanted.place, f.id AS file_id, c.id AS content_id, c.sha512, c.size
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS wanted (object_id, path, place)
JOIN objects o ON o.id = wanted.object_id
JOIN files f ON f.object_id = o.id AND f.path = wanted.path
LEFT JOIN entries e ON e.file_id = f.id AND e.generation = o.generation AND e.version =
    (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= o.head)
LEFT JOIN contents c ON c.id = e.content_id
-- name: copies.unproved
UPDATE copies SET verified_at = NULL, attested_at = NULL, last_fixity_at = NULL
FROM unnest($1::uuid[], $2::text[]) AS doubtful (content_id, store)
WHERE copies.content_id = doubtful.content_id AND copies.store = doubtful.store
-- name: copies.forget
DELETE FROM copies USING unnest($1::uuid[], $2::text[]) AS gone (content_id, store)
WHERE copies.content_id = gone.content_id AND copies.store = gone.store
-- name: version_stores.insert
INSERT INTO version_stores (version_id, store)
SELECT version_id, store FROM unnest($1::uuid[], $2::text[]) AS new (version_id, store)
ON CONFLICT DO NOTHING
-- name: local_ids.insert
INSERT INTO local_ids (object_id, local_id)
SELECT object_id, local_id FROM unnest($1::uuid[], $2::text[]) AS new (object_id, local_id)
ON CONFLICT DO NOTHING
-- name: versions.any_verified_missing
SELECT wanted.place, count(c.id) AS unproved
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) WITH ORDINALITY
    AS wanted (object_id, generation, version, store, place)
LEFT JOIN contents c ON c.object_id = wanted.object_id AND c.generation = wanted.generation
    AND c.version = wanted.version
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = wanted.store
        AND k.verified_at IS NOT NULL)
GROUP BY wanted.place
-- What was known of an object in a store stays known: a new version says nothing of the inventories of earlier ones. Known
-- damage is due at once.
-- name: object_copies.insert
INSERT INTO object_copies AS kept (object_id, store, institution_id, generation, state, checked_at, last_fixity_at)
SELECT object_id, store, institution_id, generation, 'kept', time, time
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::bigint[])
    AS new (object_id, store, institution_id, generation, time)
ON CONFLICT (object_id, store) DO UPDATE SET
    state = CASE WHEN kept.generation = excluded.generation THEN kept.state ELSE 'kept' END,
    checked_at = CASE WHEN kept.generation <> excluded.generation THEN excluded.checked_at ELSE 0 END,
    last_fixity_at = CASE WHEN kept.generation = excluded.generation THEN kept.last_fixity_at
        ELSE excluded.last_fixity_at END,
    generation = excluded.generation
WHERE kept.generation <> excluded.generation OR kept.state <> 'kept'
