-- Objects by what was said of them. A filter that is not wanted is a pattern that everything matches, or a bound beyond all.
-- name: search.objects
SELECT o.id, o.identifier, o.title, o.state, o.head, o.files, o.bytes, o.created_at, o.updated_at
FROM objects o
WHERE o.id > ?1 AND coalesce(?2, o.institution_id) = o.institution_id AND o.state <> 'new'
    AND o.created_at >= ?3 AND o.created_at < ?4 AND lower(coalesce(o.title, '')) LIKE lower(?5) ESCAPE '\'
    AND (lower(o.identifier) LIKE lower(?6) ESCAPE '\' OR lower(coalesce(o.title, '')) LIKE lower(?6) ESCAPE '\'
        OR lower(coalesce(o.ark, '')) LIKE lower(?6) ESCAPE '\'
        OR EXISTS (SELECT 1 FROM local_ids l WHERE l.object_id = o.id AND lower(l.local_id) LIKE lower(?6) ESCAPE '\'))
ORDER BY o.id LIMIT ?7
-- The same with the files that they have now, in the order of the objects and of the paths in each: SQLite keeps the order of
-- cross joins.
-- name: search.files
SELECT o.id, o.identifier, o.title, o.state, o.head, o.files, o.bytes, o.created_at, o.updated_at, f.id AS file_id,
    f.path, c.size, e.puid
FROM objects o CROSS JOIN files f CROSS JOIN entries e CROSS JOIN contents c
WHERE o.id >= ?1 AND f.object_id = o.id AND f.path >= 'deposit/' AND f.path < 'deposit0'
    AND e.file_id = f.id AND e.generation = o.generation AND e.version =
        (SELECT max(x.version) FROM entries x WHERE x.file_id = f.id AND x.generation = o.generation AND x.version <= o.head)
    AND c.id = e.content_id AND (o.id > ?1 OR f.path > ?8) AND coalesce(?2, o.institution_id) = o.institution_id
    AND o.state <> 'new' AND o.created_at >= ?3 AND o.created_at < ?4
    AND lower(coalesce(o.title, '')) LIKE lower(?5) ESCAPE '\'
    AND (lower(o.identifier) LIKE lower(?6) ESCAPE '\' OR lower(coalesce(o.title, '')) LIKE lower(?6) ESCAPE '\'
        OR lower(coalesce(o.ark, '')) LIKE lower(?6) ESCAPE '\'
        OR EXISTS (SELECT 1 FROM local_ids l WHERE l.object_id = o.id AND lower(l.local_id) LIKE lower(?6) ESCAPE '\'))
    AND (lower(f.path) LIKE lower(?9) ESCAPE '\' OR lower(f.path) LIKE lower(?12) ESCAPE '\'
        OR lower(f.path) LIKE lower(?13) ESCAPE '\') AND (?10 = '' OR e.puid = ?10)
    AND coalesce(?11, c.sha512) IN (c.sha512, c.sha256, c.sha1, c.md5)
ORDER BY o.id, f.path LIMIT ?7
