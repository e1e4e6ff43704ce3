-- The columns of a spot test as it is read from a row.
-- list: spot_tests.columns
t.id, t.institution_id, i.identifier AS institution_identifier, t.object_id, t.object_identifier, t.version, t.item_id, t.state,
    t.reason, t.place, t.size, t.sha256, t.begun_at, t.ended_at, t.reminded_at, t.decided_at, t.decided_by
-- name: spot_tests.add_turns
INSERT INTO spot_test_turns (institution_id, last_at)
SELECT i.id, ?1 FROM institutions i
WHERE i.state = 'active' AND NOT EXISTS (SELECT 1 FROM spot_test_turns t WHERE t.institution_id = i.id)
    AND EXISTS (SELECT 1 FROM objects o WHERE o.institution_id = i.id AND o.state = 'active')
ON CONFLICT DO NOTHING
-- A time after ?2 was given by a clock that was ahead.
-- name: spot_tests.due
SELECT t.institution_id, i.identifier, t.last_at, t.after_object
FROM spot_test_turns t JOIN institutions i ON i.id = t.institution_id
WHERE (t.last_at <= ?1 OR t.last_at > ?2) AND i.state = 'active'
    AND NOT EXISTS (SELECT 1 FROM spot_tests s WHERE s.institution_id = t.institution_id AND s.state = 'restoring')
ORDER BY t.institution_id
-- name: spot_tests.take_turn
UPDATE spot_test_turns SET last_at = ?3, after_object = ?4 WHERE institution_id = ?1 AND last_at = ?2 RETURNING 1 AS found
-- name: spot_tests.insert
INSERT INTO spot_tests (id, institution_id, object_id, object_identifier, version, item_id, state, begun_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'restoring', ?7)
-- name: spot_tests.open
SELECT {spot_tests.columns}
FROM spot_tests t JOIN institutions i ON i.id = t.institution_id
WHERE t.state IN ('restoring', 'restored', 'failed') AND t.id > ?1 ORDER BY t.id LIMIT ?2
-- name: spot_tests.ended
UPDATE spot_tests SET state = ?3, reason = ?4, place = ?5, size = ?6, sha256 = ?7, ended_at = ?8
WHERE id = ?1 AND state = ?2 AND decided_at IS NULL RETURNING 1 AS found
-- name: spot_tests.reminded
UPDATE spot_tests SET reminded_at = ?2 WHERE id = ?1 AND state = 'restored' AND reminded_at IS NULL RETURNING 1 AS found
-- name: spot_tests.decided
UPDATE spot_tests SET state = ?3, reason = coalesce(?4, reason), decided_at = ?5, decided_by = ?6
WHERE id = ?1 AND state = ?2 RETURNING 1 AS found
-- name: spot_tests.count_failed
SELECT count(*) AS tests FROM spot_tests WHERE state = 'failed'
