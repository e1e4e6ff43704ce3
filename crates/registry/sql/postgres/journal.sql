-- name: journal.list
SELECT j.id, j.time, a.id AS actor_id, a.kind, a.name, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.id > $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4)
ORDER BY j.id LIMIT $5
-- name: journal.newest
SELECT j.id, j.time, a.id AS actor_id, a.kind, a.name, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.id < $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4)
ORDER BY j.id DESC LIMIT $5
