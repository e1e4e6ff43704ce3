-- name: actors.insert
INSERT INTO actors (id, kind, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
-- name: journal.append
INSERT INTO journal (id, time, actor_id, request_id, act, target, institution_id, outcome, detail)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
-- name: actors.of_item
SELECT a.id, a.kind, a.name FROM work_items w JOIN actors a ON a.id = w.actor_id WHERE w.id = ?1
-- name: journal.was_refused
SELECT 1 AS found FROM journal WHERE actor_id = ?1 AND id > ?2 AND act = ?3 AND outcome = 'refused' LIMIT 1
