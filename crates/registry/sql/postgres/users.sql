-- name: users.by_account
SELECT {users.columns}
FROM {users.tables} WHERE u.account = $1 AND ($2::uuid IS NULL OR u.institution_id = $2)
-- name: users.list
SELECT {users.columns}
FROM {users.tables}
WHERE ($1::uuid IS NULL OR u.institution_id = $1) AND u.account > $2 AND ($3::text IS NULL OR u.role = $3) AND ($4::boolean OR u.state = 'active')
ORDER BY u.account LIMIT $5
-- name: api_keys.list
SELECT {api_keys.columns}
FROM {api_keys.tables}
WHERE k.id > $1 AND ($2::uuid IS NULL OR u.institution_id = $2) AND ($3::uuid IS NULL OR k.user_id = $3) AND ($4::boolean OR k.ended_at IS NULL)
ORDER BY k.id LIMIT $5
-- name: api_keys.named
SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.id >= $1 AND k.id < $2 AND ($3::uuid IS NULL OR u.institution_id = $3) ORDER BY k.id LIMIT $4
-- name: users.admins
SELECT {users.columns}
FROM {users.tables}
WHERE u.state = 'active' AND u.account > $2 AND ((u.role = 'system_admin' AND u.institution_id IS NULL)
    OR (u.role = 'institution_admin' AND u.institution_id = $1::uuid))
ORDER BY u.account LIMIT $3
