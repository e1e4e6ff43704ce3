-- What is still to be removed from stores.
-- name: deletions.list_unfinished
SELECT s.object_id, s.store, s.deletion_id, s.reason, d.files, d.begun_at, d.item_id, o.identifier FROM deletion_stores s
JOIN deletions d ON d.id = s.deletion_id JOIN objects o ON o.id = s.object_id
WHERE s.done_at IS NULL AND (s.object_id, s.store, s.deletion_id) > (?1, ?2, ?3)
    AND (?4 IS NULL OR d.institution_id = ?4)
ORDER BY s.object_id, s.store, s.deletion_id LIMIT ?5
