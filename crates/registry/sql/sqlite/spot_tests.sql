-- Objects in a random order that stays, behind one of them.
-- name: spot_tests.candidates
SELECT o.id, o.identifier, o.head, o.bytes, o.state FROM objects o
WHERE o.institution_id = ?1 AND substr(o.id, 13) >= ?2 AND (substr(o.id, 13) > ?2 OR o.id > ?3)
ORDER BY substr(o.id, 13), o.id LIMIT ?4
-- name: spot_tests.get
SELECT {spot_tests.columns}
FROM spot_tests t JOIN institutions i ON i.id = t.institution_id
WHERE t.id = ?1 AND (?2 IS NULL OR t.institution_id = ?2)
-- name: spot_tests.list
SELECT {spot_tests.columns}
FROM spot_tests t JOIN institutions i ON i.id = t.institution_id
WHERE t.id > ?1 AND (?2 IS NULL OR t.institution_id = ?2) AND (?3 IS NULL OR t.state = ?3)
ORDER BY t.id LIMIT ?4
