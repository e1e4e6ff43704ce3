-- What activities made, and from what. Where parameters are arrays, a statement works on many records at once and answers with
-- their places. Entities are locked in the order of their identifiers.

-- name: entities.insert
WITH new AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS new (id, institution_id, entity, place)
), first AS (
    SELECT DISTINCT ON (id) id, institution_id, entity, place FROM new ORDER BY id, place
), made AS (
    INSERT INTO entities (id, institution_id, entity) SELECT id, institution_id, entity FROM first ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
SELECT first.place, made.id FROM made JOIN first ON first.id = made.id

-- Keeps the validity of an entity as it is until the transaction ends.
-- name: entities.lock
SELECT id, institution_id, entity, invalidated_at, invalidated_by FROM entities WHERE id = $1 FOR SHARE

-- name: entities.revalidate
UPDATE entities SET invalidated_at = NULL, invalidated_by = NULL
FROM unnest($1::uuid[]) AS again (id) WHERE entities.id = again.id AND invalidated_at IS NOT NULL

-- name: provenance.insert
WITH new AS (
    SELECT * FROM unnest(
        $1::uuid[], $2::bigint[], $3::uuid[], $4::boolean[], $5::uuid[], $6::boolean[], $7::text[], $8::bigint[]
    ) WITH ORDINALITY AS new (activity_id, run, used_id, invalidates, entity_id, is_first, record, at, place)
), made AS (
    INSERT INTO provenance (activity_id, run, used_id, invalidates, entity_id, is_first, record, at)
    SELECT activity_id, run, used_id, invalidates, entity_id, is_first, record, at FROM new ORDER BY place
    ON CONFLICT (activity_id, run, used_id, invalidates) DO NOTHING
    RETURNING activity_id, run, used_id, invalidates, is_first
)
SELECT min(new.place) AS place, made.is_first FROM made JOIN new USING (activity_id, run, used_id, invalidates)
GROUP BY made.activity_id, made.run, made.used_id, made.invalidates, made.is_first

-- name: provenance.of_activity
SELECT p.used_id, p.is_first, p.record, p.at, e.entity, e.invalidated_at, e.invalidated_by
FROM provenance AS p JOIN entities AS e ON e.id = p.entity_id
WHERE p.activity_id = $1 AND p.run = $2 AND p.used_id > $3 AND NOT p.invalidates
    AND ($4::boolean OR e.invalidated_at IS NULL)
ORDER BY p.used_id LIMIT $5

-- name: provenance.made_of
SELECT wanted.place, e.entity
FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) WITH ORDINALITY AS wanted (activity_id, run, used_id, place)
JOIN provenance AS p USING (activity_id, run, used_id) JOIN entities AS e ON e.id = p.entity_id
WHERE NOT p.invalidates AND e.invalidated_at IS NULL

-- name: provenance.of_record
SELECT wanted.place, p.activity_id, p.run, p.used_id, p.is_first, p.record, p.at, e.entity, e.invalidated_at,
    e.invalidated_by
FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) WITH ORDINALITY AS wanted (activity_id, run, used_id, place)
JOIN provenance AS p USING (activity_id, run, used_id) JOIN entities AS e ON e.id = p.entity_id
WHERE NOT p.invalidates
