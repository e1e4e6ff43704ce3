-- name: identification.files_behind
SELECT e.generation, e.version, e.file_id, f.path, c.id AS content_id, c.size, c.sha512, e.puid, e.mime, e.format_name,
    e.format_version, e.format_method, e.format_basis, e.format_signatures, e.format_warning, e.format_others
FROM objects o
JOIN entries e ON e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head
JOIN files f ON f.id = e.file_id
JOIN contents c ON c.id = e.content_id
WHERE o.id = ?1 AND e.format_signatures IS DISTINCT FROM ?2 AND (f.path < 'metadata/' OR f.path >= 'metadata0')
    AND (e.version, e.file_id) > (?3, ?4)
ORDER BY e.version, e.file_id LIMIT ?5
