-- What activities made, and from what.

-- name: entities.insert
INSERT INTO entities (id, institution_id, entity) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING RETURNING id

-- Keeps the validity of an entity as it is until the transaction ends.
-- name: entities.lock
SELECT id, institution_id, entity, invalidated_at, invalidated_by FROM entities WHERE id = ?1

-- name: entities.revalidate
UPDATE entities SET invalidated_at = NULL, invalidated_by = NULL WHERE id = ?1 AND invalidated_at IS NOT NULL

-- name: provenance.insert
INSERT INTO provenance (activity_id, run, used_id, invalidates, entity_id, is_first, record, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (activity_id, run, used_id, invalidates) DO NOTHING
RETURNING is_first

-- name: provenance.of_activity
SELECT p.used_id, p.is_first, p.record, p.at, e.entity, e.invalidated_at, e.invalidated_by
FROM provenance AS p JOIN entities AS e ON e.id = p.entity_id
WHERE p.activity_id = ?1 AND p.run = ?2 AND p.used_id > ?3 AND NOT p.invalidates AND (?4 OR e.invalidated_at IS NULL)
ORDER BY p.used_id LIMIT ?5

-- name: provenance.made_of
SELECT e.entity FROM provenance AS p JOIN entities AS e ON e.id = p.entity_id
WHERE p.activity_id = ?1 AND p.run = ?2 AND p.used_id = ?3 AND NOT p.invalidates AND e.invalidated_at IS NULL

-- name: provenance.of_record
SELECT p.activity_id, p.run, p.used_id, p.is_first, p.record, p.at, e.entity, e.invalidated_at, e.invalidated_by
FROM provenance AS p JOIN entities AS e ON e.id = p.entity_id
WHERE p.activity_id = ?1 AND p.run = ?2 AND p.used_id = ?3 AND NOT p.invalidates
