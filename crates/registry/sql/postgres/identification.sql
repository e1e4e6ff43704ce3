-- name: identification.objects_behind
SELECT o.id, i.identifier
FROM objects o JOIN institutions i ON i.id = o.institution_id
WHERE o.id > $1 AND ($2::uuid IS NULL OR o.institution_id = $2) AND o.state = 'active' AND EXISTS
    (SELECT 1 FROM entries e JOIN files f ON f.id = e.file_id
     WHERE e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head AND e.content_id IS NOT NULL
        AND e.format_signatures IS DISTINCT FROM $3 AND (f.path < 'metadata/' OR f.path >= 'metadata0'))
ORDER BY o.id LIMIT $4
-- name: identification.amount_behind
SELECT count(*) AS files, coalesce(sum(c.size), 0)::bigint AS bytes
FROM objects o
JOIN entries e ON e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head
JOIN files f ON f.id = e.file_id
JOIN contents c ON c.id = e.content_id
WHERE o.id = $1 AND e.format_signatures IS DISTINCT FROM $2 AND (f.path < 'metadata/' OR f.path >= 'metadata0')
-- name: identification.set_format
UPDATE entries SET puid = found.puid, mime = found.mime, format_name = found.format_name, format_version =
    found.format_version, format_method = found.format_method, format_basis = found.format_basis,
    format_signatures = found.format_signatures, format_warning = found.format_warning, format_others =
    found.format_others
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[]) AS found (object_id, generation, version,
    file_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures,
    format_warning, format_others)
WHERE entries.object_id = found.object_id AND entries.generation = found.generation AND entries.version = found.version
    AND entries.file_id = found.file_id AND entries.content_id IS NOT NULL
