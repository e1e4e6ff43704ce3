-- name: problems.get
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.id = $1 AND ($2::uuid IS NULL OR p.institution_id = $2)
-- name: problems.list
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.state <> 'resolved' AND p.id > $1 AND ($2::uuid IS NULL OR p.institution_id = $2) AND ($3::text IS NULL OR p.state = $3)
    AND ($4::text IS NULL OR p.kind = $4 OR substr(p.kind, 1, length($4::text) + 1) = $4 || '.')
    AND ($5::text IS NULL OR p.store = $5)
ORDER BY p.id LIMIT $6
-- The same with those that are resolved.
-- name: problems.list_all
SELECT {problems.columns}
FROM problems p LEFT JOIN institutions i ON i.id = p.institution_id
WHERE p.id > $1 AND ($2::uuid IS NULL OR p.institution_id = $2) AND ($3::text IS NULL OR p.state = $3)
    AND ($4::text IS NULL OR p.kind = $4 OR substr(p.kind, 1, length($4::text) + 1) = $4 || '.')
    AND ($5::text IS NULL OR p.store = $5)
ORDER BY p.id LIMIT $6
