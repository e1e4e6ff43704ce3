-- name: institutions.by_identifier
SELECT id, identifier, name, state, staging_quota, storage_quota, second_factor_required, created_at FROM institutions
WHERE identifier = $1 AND ($2::uuid IS NULL OR id = $2)
-- name: institutions.get
SELECT id, identifier, name, state, staging_quota, storage_quota, second_factor_required, created_at FROM institutions WHERE id = $1 AND ($2::uuid IS NULL OR id = $2)
-- name: institutions.list
SELECT id, identifier, name, state, staging_quota, storage_quota, second_factor_required, created_at FROM institutions
WHERE ($1::uuid IS NULL OR id = $1) AND identifier > $2 ORDER BY identifier LIMIT $3
-- name: collections.by_identifier
SELECT {collections.columns}
FROM {collections.tables}
WHERE c.institution_id = $1 AND c.identifier = $2 AND ($3::uuid IS NULL OR c.institution_id = $3)
-- name: collections.list
SELECT {collections.columns}
FROM {collections.tables}
WHERE ($1::uuid IS NULL OR c.institution_id = $1) AND ($2::boolean OR c.state = 'active')
ORDER BY i.identifier, c.identifier
-- name: schema.made_at
SELECT (extract(epoch FROM applied_at) * 1000000)::bigint AS made_at FROM schema_version WHERE version = 1
