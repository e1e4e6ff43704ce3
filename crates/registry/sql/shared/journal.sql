-- What an actor is read from. The column `name` of those that act by an account or a key names these as well, since it is unique; `user_name` is the
-- name alone.
-- list: actors.columns
a.kind, coalesce(a.user_name, a.name) AS name, a.account, a.api_key
-- name: actors.insert
INSERT INTO actors (id, kind, name, created_at, user_name, account, api_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING
-- name: actors.of_item
SELECT a.id, {actors.columns} FROM work_items w JOIN actors a ON a.id = w.actor_id WHERE w.id = ?1
-- name: journal.was_refused
SELECT 1 AS found FROM journal WHERE actor_id = ?1 AND act = ?3 AND time >= ?2 AND outcome = 'refused' LIMIT 1
