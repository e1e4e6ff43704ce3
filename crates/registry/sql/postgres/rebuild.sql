-- name: rebuild.insert_copy
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, stored_at, state, checked_at)
SELECT content_id, store, institution_id, object_id, key, class, stored_at, 'kept', 0 FROM unnest($1::uuid[],
    $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[]) AS new (content_id, store,
    institution_id, object_id, key, class, stored_at)
ON CONFLICT DO NOTHING
-- name: rebuild.copies_by_key
SELECT k.key, c.size FROM copies k JOIN contents c ON c.id = k.content_id JOIN objects o ON o.id = k.object_id
WHERE k.object_id = $1 AND k.store = $2 AND k.key COLLATE "C" > $3 AND c.generation = $5
    AND (c.generation <> o.generation OR c.version <= o.head)
ORDER BY k.key COLLATE "C" LIMIT $4
