-- name: rebuild.insert_copy
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, state, stored_at, checked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'kept', ?7, 0)
ON CONFLICT DO NOTHING
-- name: rebuild.copies_by_key
SELECT k.key, c.size FROM copies k JOIN contents c ON c.id = k.content_id JOIN objects o ON o.id = k.object_id
WHERE k.object_id = ?1 AND k.store = ?2 AND k.key > ?3 AND c.generation = ?5
    AND (c.generation <> o.generation OR c.version <= o.head)
ORDER BY k.key LIMIT ?4
