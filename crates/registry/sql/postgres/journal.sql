-- The lock is held until the commit: lines become visible in the order of their numbers.
-- name: journal.append
INSERT INTO journal (id, time, actor_id, request_id, act, target, institution_id, outcome, detail, object, number)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    (SELECT nextval('journal_number')
        FROM (SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.journal', 0))) AS locked))
-- name: journal.list
SELECT j.id, j.number, j.time, a.id AS actor_id, {actors.columns}, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail, j.object
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.number > $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4 OR a.user_name = $4 OR a.account = $4)
    AND ($6::text IS NULL OR j.act = $6 OR substr(j.act, 1, length($6) + 1) = $6 || '.')
ORDER BY j.number LIMIT $5
-- name: journal.newest
SELECT j.id, j.number, j.time, a.id AS actor_id, {actors.columns}, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail, j.object
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.number < $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4 OR a.user_name = $4 OR a.account = $4)
    AND ($6::text IS NULL OR j.act = $6 OR substr(j.act, 1, length($6) + 1) = $6 || '.')
ORDER BY j.number DESC LIMIT $5
-- name: journal.of_object
SELECT j.id, j.number, j.time, a.id AS actor_id, {actors.columns}, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail, j.object
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.object = $7 AND j.number > $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4 OR a.user_name = $4 OR a.account = $4)
    AND ($6::text IS NULL OR j.act = $6 OR substr(j.act, 1, length($6) + 1) = $6 || '.')
ORDER BY j.number LIMIT $5
-- name: journal.newest_of_object
SELECT j.id, j.number, j.time, a.id AS actor_id, {actors.columns}, j.request_id, j.act, j.target, i.identifier AS institution_identifier,
    j.outcome, j.detail, j.object
FROM journal j JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE j.object = $7 AND j.number < $1 AND ($2::uuid IS NULL OR j.institution_id = $2) AND j.time >= $3 AND ($4::text IS NULL OR a.name = $4 OR a.user_name = $4 OR a.account = $4)
    AND ($6::text IS NULL OR j.act = $6 OR substr(j.act, 1, length($6) + 1) = $6 || '.')
ORDER BY j.number DESC LIMIT $5
