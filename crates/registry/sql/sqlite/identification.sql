-- name: identification.objects_behind
SELECT o.id, i.identifier
FROM objects o JOIN institutions i ON i.id = o.institution_id
WHERE o.id > ?1 AND (?2 IS NULL OR o.institution_id = ?2) AND o.state = 'active' AND EXISTS
    (SELECT 1 FROM entries e JOIN files f ON f.id = e.file_id
     WHERE e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head AND e.content_id IS NOT NULL
        AND e.format_signatures IS DISTINCT FROM ?3 AND (f.path < 'metadata/' OR f.path >= 'metadata0'))
ORDER BY o.id LIMIT ?4
-- name: identification.amount_behind
SELECT count(*) AS files, coalesce(sum(c.size), 0) AS bytes
FROM objects o
JOIN entries e ON e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head
JOIN files f ON f.id = e.file_id
JOIN contents c ON c.id = e.content_id
WHERE o.id = ?1 AND e.format_signatures IS DISTINCT FROM ?2 AND (f.path < 'metadata/' OR f.path >= 'metadata0')
-- name: identification.set_format
UPDATE entries SET puid = ?5, mime = ?6, format_name = ?7, format_version = ?8, format_method = ?9, format_basis = ?10,
    format_signatures = ?11, format_warning = ?12, format_others = ?13
WHERE object_id = ?1 AND generation = ?2 AND version = ?3 AND file_id = ?4 AND content_id IS NOT NULL
