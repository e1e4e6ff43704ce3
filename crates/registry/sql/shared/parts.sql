-- name: parts.put_item
INSERT INTO item_parts (item_id, number, total) VALUES (?1, ?2, ?3)
ON CONFLICT (item_id) DO NOTHING
-- name: parts.of_item
SELECT number, total FROM item_parts WHERE item_id = ?1
-- name: parts.put
INSERT INTO object_parts (object_id, generation, version, number, total) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (object_id, generation, version) DO NOTHING
-- name: parts.at
SELECT DISTINCT p.total, p.number FROM object_parts p
WHERE p.object_id = ?1 AND p.generation = ?2 AND p.version <= ?3 AND p.total =
    (SELECT n.total FROM object_parts n WHERE n.object_id = ?1 AND n.generation = ?2 AND n.version <= ?3
    ORDER BY n.version DESC LIMIT 1)
ORDER BY p.number
