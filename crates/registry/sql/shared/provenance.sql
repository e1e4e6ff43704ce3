-- What activities made, and from what.

-- name: entities.get
SELECT id, institution_id, entity, invalidated_at, invalidated_by FROM entities WHERE id = ?1

-- name: entities.invalidate
UPDATE entities SET invalidated_at = ?2, invalidated_by = ?3 WHERE id = ?1 AND invalidated_at IS NULL

-- Where a run made another entity of a record before.
-- name: provenance.replace
UPDATE provenance SET entity_id = ?5, is_first = ?6, record = ?7, at = ?8
WHERE activity_id = ?1 AND run = ?2 AND used_id = ?3 AND invalidates = ?4 AND entity_id <> ?5

-- name: provenance.of_entity
SELECT activity_id, run, used_id, invalidates, is_first, record, at FROM provenance
WHERE entity_id = ?1 AND (at, activity_id, run, used_id, invalidates) > (?2, ?3, ?4, ?5, ?6)
ORDER BY at, activity_id, run, used_id, invalidates LIMIT ?7

-- When an entity was last made of a record that is not itself.
-- name: provenance.last_made
SELECT at FROM provenance WHERE entity_id = ?1 AND NOT invalidates AND record IS NOT NULL
ORDER BY at DESC, activity_id DESC LIMIT 1

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

-- What a run ended the validity of.
-- name: provenance.invalidated_by
SELECT p.used_id, p.at, e.entity, e.invalidated_at, e.invalidated_by
FROM provenance AS p JOIN entities AS e ON e.id = p.entity_id
WHERE p.activity_id = ?1 AND p.run = ?2 AND p.used_id > ?3 AND p.invalidates ORDER BY p.used_id LIMIT ?4

-- When the validity of what a run made of the records of a page was ended, and by which runs.
-- name: provenance.ends_of_results
SELECT p.used_id, i.activity_id, i.run, i.at
FROM provenance AS p JOIN provenance AS i ON i.entity_id = p.entity_id AND i.invalidates
WHERE p.activity_id = ?1 AND p.run = ?2 AND p.used_id > ?3 AND p.used_id <= ?4 AND NOT p.invalidates
ORDER BY p.used_id, i.at, i.activity_id

-- name: provenance.ends_of_entity
SELECT activity_id, run, at FROM provenance WHERE entity_id = ?1 AND invalidates ORDER BY at, activity_id LIMIT ?2
