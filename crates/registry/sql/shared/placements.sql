-- Whether the store `p.store` does not hold the object `o` whole.
-- list: placements.lacks
(NOT EXISTS (SELECT 1 FROM object_copies k WHERE k.object_id = o.id AND k.store = p.store AND k.generation = o.generation)
    OR EXISTS (SELECT 1 FROM contents c WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
        AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = p.store)))
-- The rules of the collection of the object `o`.
-- list: placements.rules
LEFT JOIN collections g ON g.id = o.collection_id
LEFT JOIN collection_rules r ON r.collection_id = g.id AND r.version = g.rules_version
-- The placement of the collection of the object `o`, where the object has another one that no deposit named. Where that was not recorded, it is so
-- if earlier rules name it; rules without a placement stand for the default `d`.
-- list: placements.wanted
CASE WHEN lower(r.placement) <> lower(coalesce(o.placement, '')) AND (o.placement_requested = FALSE
    OR (o.placement_requested IS NULL AND EXISTS (SELECT 1 FROM collection_rules e WHERE e.collection_id = r.collection_id
        AND e.version < r.version AND lower(coalesce(e.placement, d.placement)) = lower(o.placement))))
    THEN r.placement END
-- A page of the objects of a collection, with the placements that they should have instead of theirs.
-- name: placements.of_collection
SELECT o.id, {placements.wanted} AS wanted FROM (SELECT id, collection_id, placement, placement_requested, head
    FROM objects WHERE collection_id = ?1 AND id > ?2 ORDER BY id LIMIT ?4) AS o
CROSS JOIN (SELECT CAST(?3 AS TEXT) AS placement) AS d
{placements.rules}
ORDER BY o.id
-- name: placements.wanted_of
SELECT {placements.wanted} AS wanted FROM objects o
CROSS JOIN (SELECT CAST(?2 AS TEXT) AS placement) AS d
{placements.rules}
WHERE o.id = ?1 AND o.head > 0
-- name: placements.set
UPDATE objects SET placement = ?2 WHERE id = ?1 AND head > 0
-- name: placements.changed_collections
SELECT name FROM registry_facts WHERE name >= 'placements.collection/' AND name < 'placements.collection0' ORDER BY name
-- name: placements.list
SELECT placement, store, compared_to, is_complete FROM placement_comparisons ORDER BY placement, store
-- name: placements.get
SELECT placement, store, compared_to, is_complete FROM placement_comparisons WHERE placement = ?1 AND store = ?2
-- name: placements.begin
INSERT INTO placement_comparisons (placement, store, compared_to, is_complete) VALUES (?1, ?2, ?3, FALSE)
ON CONFLICT DO NOTHING
-- name: placements.forget
DELETE FROM placement_comparisons WHERE placement = ?1 AND store = ?2
-- name: placements.advance
UPDATE placement_comparisons SET compared_to = ?3, is_complete = ?4 WHERE placement = ?1 AND store = ?2
-- name: placements.objects
SELECT id FROM objects WHERE id > ?1 ORDER BY id LIMIT ?2
-- Marks what the store lacks of the objects behind one, up to another.
-- name: placements.mark
INSERT INTO objects_to_compare (object_id, marks)
SELECT o.id, 1 FROM placement_comparisons p JOIN objects o ON lower(o.placement) = lower(p.placement)
WHERE p.placement = ?1 AND p.store = ?2 AND o.id > ?3 AND o.id <= ?4 AND o.head > 0 AND {placements.lacks}
ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1
-- A page of the objects that are marked, each with the stores that lack something of it, or once without.
-- name: placements.marked
SELECT m.object_id, i.identifier AS institution_identifier, p.store, {placements.wanted} AS wanted FROM (SELECT object_id FROM objects_to_compare WHERE object_id > ?1 ORDER BY object_id LIMIT ?2) AS m
CROSS JOIN (SELECT CAST(?3 AS TEXT) AS placement) AS d
LEFT JOIN objects o ON o.id = m.object_id AND o.head > 0
LEFT JOIN institutions i ON i.id = o.institution_id
{placements.rules}
LEFT JOIN placement_comparisons p ON lower(p.placement) = lower(o.placement) AND {placements.lacks}
ORDER BY m.object_id, p.store
-- The bytes of the contents of an object that a store lacks.
-- name: placements.bytes_lacking
SELECT CAST(coalesce(sum(c.size), 0) AS BIGINT) AS bytes FROM objects o
JOIN contents c ON c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
WHERE o.id = ?1 AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?2)
-- name: placements.unmark
DELETE FROM objects_to_compare WHERE object_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM objects o JOIN placement_comparisons p ON lower(p.placement) = lower(o.placement)
    WHERE o.id = ?1 AND o.head > 0 AND {placements.lacks})
-- Of the first objects that are marked, those that a store of their placement does not hold whole.
-- name: placements.count_marked
SELECT count(*) AS examined,
    count(CASE WHEN o.head > 0 AND lower(o.placement) = lower(?1) AND {placements.lacks} THEN 1 END) AS lacking
FROM (SELECT object_id FROM objects_to_compare ORDER BY object_id LIMIT ?3) AS m
CROSS JOIN (SELECT CAST(?2 AS TEXT) AS store) AS p
LEFT JOIN objects o ON o.id = m.object_id
-- The same of the first objects behind one that are not marked.
-- name: placements.count_behind
SELECT count(*) AS examined,
    count(CASE WHEN o.head > 0 AND lower(o.placement) = lower(?1)
        AND NOT EXISTS (SELECT 1 FROM objects_to_compare m WHERE m.object_id = o.id) AND {placements.lacks} THEN 1 END) AS lacking
FROM (SELECT id, head, generation, placement FROM objects WHERE id > ?3 ORDER BY id LIMIT ?4) AS o
CROSS JOIN (SELECT CAST(?2 AS TEXT) AS store) AS p
