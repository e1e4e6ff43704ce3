-- What activities made, and from what.

-- name: entities.get
SELECT id, institution_id, entity, invalidated_at, invalidated_by FROM entities WHERE id = ?1

-- name: entities.invalidate
UPDATE entities SET invalidated_at = ?2, invalidated_by = ?3 WHERE id = ?1 AND invalidated_at IS NULL

-- name: provenance.of_entity
SELECT activity_id, run, invalidates, is_first, record, at FROM provenance
WHERE entity_id = ?1 AND (at, activity_id) > (?2, ?3) ORDER BY at, activity_id LIMIT ?4

-- name: provenance.taken
SELECT theirs.used_id, theirs.record, made.entity, made.invalidated_at,
    result.entity AS our_entity
FROM provenance AS theirs
JOIN entities AS made ON made.id = theirs.entity_id
LEFT JOIN provenance AS mine ON mine.activity_id = ?4 AND mine.run = ?5 AND NOT mine.invalidates
    AND mine.used_id = CASE WHEN ?6 = 1 THEN theirs.entity_id ELSE theirs.used_id END
LEFT JOIN entities AS result ON result.id = mine.entity_id
WHERE theirs.activity_id = ?1 AND theirs.run = ?2 AND theirs.used_id > ?3 AND NOT theirs.invalidates
ORDER BY theirs.used_id LIMIT ?7
