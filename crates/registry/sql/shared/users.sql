-- The columns of a user as it is read from a row, and the tables that they are of.
-- list: users.columns
u.id, u.account, u.email, u.role, u.institution_id, i.identifier AS institution_identifier,
    coalesce(i.second_factor_required, FALSE) AS second_factor_required, u.state, u.password_hash, u.password_needs_factor,
    u.factor_sealed, u.factor_confirmed_at, u.factor_last_step, u.signed_in_at, u.created_at, u.deactivated_at
-- list: users.tables
users u LEFT JOIN institutions i ON i.id = u.institution_id
-- The columns of a key as it is read from a row, and the tables that they are of.
-- list: api_keys.columns
k.id, k.digest, k.user_id, u.account, u.institution_id, i.identifier AS institution_identifier, u.state AS user_state, coalesce(a.user_name, a.name) AS made_by,
    k.scopes, k.issued_at, k.expires_at, k.ended_at, k.last_used_at
-- list: api_keys.tables
api_keys k JOIN users u ON u.id = k.user_id JOIN actors a ON a.id = k.actor_id LEFT JOIN institutions i ON i.id = u.institution_id
-- name: institutions.require_second_factor
UPDATE institutions SET second_factor_required = ?2, updated_at = ?3 WHERE id = ?1
-- name: users.insert
INSERT INTO users (id, account, email, role, institution_id, state, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, 'active', ?6, ?6)
ON CONFLICT DO NOTHING RETURNING 1 AS found
-- name: users.get
SELECT {users.columns}
FROM {users.tables} WHERE u.id = ?1
-- name: users.set_role
UPDATE users SET role = ?2, institution_id = ?3, updated_at = ?4 WHERE id = ?1
-- name: users.deactivate
UPDATE users SET state = 'deactivated', deactivated_at = ?2, updated_at = ?2 WHERE id = ?1 AND state = 'active' RETURNING 1 AS found
-- name: users.activate
UPDATE users SET state = 'active', deactivated_at = NULL, updated_at = ?2 WHERE id = ?1 AND state = 'deactivated' RETURNING 1 AS found
-- name: users.set_password
UPDATE users SET password_hash = ?2, password_needs_factor = ?3, password_set_at = ?4, updated_at = ?4 WHERE id = ?1
-- name: users.renew_password
UPDATE users SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2 RETURNING 1 AS found
-- name: users.signed_in
UPDATE users SET signed_in_at = ?2 WHERE id = ?1
-- name: factors.key
SELECT factor_key FROM users WHERE factor_key IS NOT NULL AND factor_key > ?1 ORDER BY factor_key LIMIT 1
-- name: factors.begin
UPDATE users SET factor_sealed = ?2, factor_key = ?3, factor_set_at = ?4, factor_last_step = NULL, updated_at = ?4
WHERE id = ?1 AND factor_confirmed_at IS NULL RETURNING 1 AS found
-- name: factors.confirm
UPDATE users SET factor_confirmed_at = ?4, factor_last_step = ?3, updated_at = ?4
WHERE id = ?1 AND factor_sealed = ?2 AND factor_confirmed_at IS NULL RETURNING 1 AS found
-- name: factors.use_step
UPDATE users SET factor_last_step = ?3
WHERE id = ?1 AND factor_sealed = ?2 AND factor_confirmed_at IS NOT NULL AND (factor_last_step IS NULL OR factor_last_step < ?3)
RETURNING 1 AS found
-- name: factors.reset
UPDATE users SET factor_sealed = NULL, factor_key = NULL, factor_set_at = NULL, factor_confirmed_at = NULL, factor_last_step = NULL,
    updated_at = ?2
WHERE id = ?1 AND factor_sealed IS NOT NULL RETURNING 1 AS found
-- name: backup_codes.insert
INSERT INTO backup_codes (user_id, digest) VALUES (?1, ?2)
-- name: backup_codes.clear
DELETE FROM backup_codes WHERE user_id = ?1
-- name: backup_codes.list
SELECT digest, used_at FROM backup_codes WHERE user_id = ?1 ORDER BY digest
-- name: backup_codes.use
UPDATE backup_codes SET used_at = ?3 WHERE user_id = ?1 AND digest = ?2 AND used_at IS NULL RETURNING 1 AS found
-- name: one_time_tokens.insert
INSERT INTO one_time_tokens (id, digest, kind, user_id, actor_id, issued_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
-- name: one_time_tokens.get
SELECT kind, digest, user_id, issued_at, expires_at, ended_at FROM one_time_tokens WHERE id = ?1
-- name: one_time_tokens.end
UPDATE one_time_tokens SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL RETURNING 1 AS found
-- name: one_time_tokens.end_of_user
UPDATE one_time_tokens SET ended_at = ?2 WHERE user_id = ?1 AND ended_at IS NULL
-- name: one_time_tokens.drop
DELETE FROM one_time_tokens WHERE id IN (SELECT id FROM one_time_tokens WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
-- name: api_keys.insert
INSERT INTO api_keys (id, digest, user_id, actor_id, scopes, issued_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
-- name: api_keys.get
SELECT {api_keys.columns}
FROM {api_keys.tables} WHERE k.id = ?1
-- name: api_keys.revoke
UPDATE api_keys SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL RETURNING 1 AS found
-- name: api_keys.revoke_of_user
UPDATE api_keys SET ended_at = ?2 WHERE user_id = ?1 AND ended_at IS NULL
-- name: api_keys.used
UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?3)
-- name: sessions.insert
INSERT INTO sessions (id, token_id, token_digest, user_id, is_complete, started_at, seen_at, rotated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6)
-- name: sessions.get
SELECT id, token_id, token_digest, previous_digest, user_id, is_complete, started_at, seen_at, rotated_at FROM sessions WHERE token_id = ?1
-- name: sessions.get_previous
SELECT id, token_id, token_digest, previous_digest, user_id, is_complete, started_at, seen_at, rotated_at FROM sessions WHERE previous_id = ?1
-- name: sessions.note
UPDATE sessions SET seen_at = ?2 WHERE id = ?1 AND seen_at < ?2
-- name: sessions.rotate
UPDATE sessions SET previous_id = token_id, previous_digest = token_digest, token_id = ?3, token_digest = ?4, seen_at = ?5, rotated_at = ?5
WHERE id = ?1 AND token_id = ?2 RETURNING 1 AS found
-- name: sessions.complete
UPDATE sessions SET previous_id = NULL, previous_digest = NULL, token_id = ?3, token_digest = ?4, seen_at = ?5, rotated_at = ?5, is_complete = TRUE
WHERE id = ?1 AND token_id = ?2 RETURNING 1 AS found
-- name: sessions.end
DELETE FROM sessions WHERE id = ?1
-- name: sessions.end_of_user
DELETE FROM sessions WHERE user_id = ?1
-- name: sessions.drop
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE started_at < ?1 ORDER BY started_at LIMIT ?2)
-- name: throttles.get
SELECT recent, consecutive, last_at FROM throttles WHERE key = ?1
-- name: throttles.put
INSERT INTO throttles (key, user_id, recent, consecutive, last_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key) DO UPDATE SET user_id = ?2, recent = ?3, consecutive = ?4, last_at = ?5
-- name: throttles.clear
DELETE FROM throttles WHERE key = ?1
-- name: throttles.drop
DELETE FROM throttles WHERE key IN (SELECT key FROM throttles WHERE user_id IS NULL AND last_at < ?1 ORDER BY last_at LIMIT ?2)
-- name: role_grants.insert
INSERT INTO role_grants (user_id, number, granted_at, act, role, actor_id, by_user_id)
VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM role_grants WHERE user_id = ?1), ?2, ?3, ?4, ?5, ?6)
-- name: role_grants.since
SELECT g.granted_at, g.act, g.role, g.by_user_id, g.actor_id, {actors.columns}
FROM role_grants g JOIN actors a ON a.id = g.actor_id WHERE g.user_id = ?1 AND g.granted_at >= ?2 ORDER BY g.number
-- name: sessions.get_present
SELECT 1 AS found FROM sessions WHERE id = ?1 AND token_id = ?2
