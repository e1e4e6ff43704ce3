-- What forbids the deletion of an object or of files of it.
-- name: obstacles.object
SELECT o.institution_id, o.identifier, o.generation, o.collection_id, r.version AS rules_version, r.retention
FROM objects o LEFT JOIN collections c ON c.id = o.collection_id
    LEFT JOIN collection_rules r ON r.collection_id = c.id AND r.version = c.rules_version
WHERE o.id = ?1
-- Whether a version brought files that people see.
-- list: obstacles.is_deposit
v.state = 'published' AND EXISTS (SELECT 1 FROM entries e JOIN files f ON f.id = e.file_id
        WHERE e.object_id = v.object_id AND e.generation = v.generation AND e.version = v.number
            AND e.content_id IS NOT NULL AND f.path >= 'deposit/' AND f.path < 'deposit0')
-- When such a version was published last.
-- name: obstacles.deposited_at
SELECT max(coalesce(v.published_at, v.created_at)) AS deposited_at FROM versions v
WHERE v.object_id = ?1 AND v.generation = ?2 AND {obstacles.is_deposit}
-- The same of the objects of a collection.
-- name: obstacles.deposits_of_collection
SELECT o.id, o.identifier, o.files, o.bytes, (SELECT max(coalesce(v.published_at, v.created_at)) FROM versions v
    WHERE v.object_id = o.id AND v.generation = o.generation AND {obstacles.is_deposit}) AS deposited_at
FROM objects o WHERE o.collection_id = ?1 AND o.id > ?2 AND o.state = 'active' ORDER BY o.id LIMIT ?3
-- The same of one file.
-- name: obstacles.file_deposited_at
SELECT max(coalesce(v.published_at, v.created_at)) AS deposited_at
FROM entries e JOIN versions v ON v.object_id = e.object_id AND v.generation = e.generation AND v.number = e.version
    AND v.state = 'published'
WHERE e.file_id = ?1 AND e.object_id = ?2 AND e.generation = ?3 AND e.content_id IS NOT NULL
-- name: obstacles.items
SELECT w.id, w.action FROM work_items w
WHERE w.institution_id = ?1 AND w.object_identifier = ?2 AND w.status IN ('pending', 'started', 'held')
    AND w.action NOT IN ('delete', 'delete_object', 'delete_file', 'delete_files')
ORDER BY w.number LIMIT ?3
-- name: obstacles.committing
SELECT v.id, v.item_id FROM versions v WHERE v.object_id = ?1 AND v.state = 'committing' ORDER BY v.id LIMIT ?2
-- What lies in a store that is out of use does not count.
-- name: obstacles.findings
SELECT f.id, f.state FROM findings f
WHERE f.object_id = ?1 AND f.state <> 'repaired'
    AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store)
ORDER BY f.id LIMIT ?2
-- name: obstacles.tool_findings
SELECT t.id, t.file_id FROM tool_findings t WHERE t.object_id = ?1 AND t.state = 'open' ORDER BY t.file_id, t.id LIMIT ?2
-- name: obstacles.tool_finding_of_file
SELECT t.id, t.file_id FROM tool_findings t WHERE t.object_id = ?1 AND t.file_id = ?2 AND t.state = 'open'
ORDER BY t.id LIMIT 1
