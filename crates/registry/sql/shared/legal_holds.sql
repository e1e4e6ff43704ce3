-- The columns of a legal hold as it is read from a row, and the tables that they are of.
-- list: legal_holds.columns
h.id, h.institution_id, i.identifier AS institution_identifier, h.collection_id, c.identifier AS collection_identifier,
    h.object_id, o.identifier AS object_identifier, h.file_id, f.path, h.reason, p.kind AS placed_kind,
    coalesce(p.user_name, p.name) AS placed_by, p.account AS placed_account, p.api_key AS placed_key, h.placed_at,
    r.kind AS released_kind, coalesce(r.user_name, r.name) AS released_by, r.account AS released_account,
    r.api_key AS released_key, h.released_at, h.release_reason
-- list: legal_holds.tables
legal_holds h JOIN institutions i ON i.id = h.institution_id JOIN actors p ON p.id = h.placed_by
    LEFT JOIN collections c ON c.id = h.collection_id LEFT JOIN objects o ON o.id = h.object_id
    LEFT JOIN files f ON f.id = h.file_id LEFT JOIN actors r ON r.id = h.released_by
-- name: legal_holds.place
INSERT INTO legal_holds (id, institution_id, collection_id, object_id, file_id, reason, placed_by, placed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (id) DO NOTHING
-- name: legal_holds.import
INSERT INTO legal_holds (id, institution_id, collection_id, object_id, file_id, reason, placed_by, placed_at, released_by,
    released_at, release_reason)
VALUES (?1, ?2, NULL, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (id) DO NOTHING
-- name: legal_holds.release
UPDATE legal_holds SET released_by = ?2, released_at = ?3, release_reason = ?4 WHERE id = ?1 AND released_at IS NULL
RETURNING id
-- What is written here orders a hold and the beginning of a deletion.
-- name: legal_holds.lock_object
UPDATE objects SET state = state WHERE id = ?1 AND state = 'active' RETURNING id, institution_id, collection_id
-- name: legal_holds.lock_collection
UPDATE collections SET rules_version = rules_version WHERE id = ?1 RETURNING id, institution_id
-- Whether a version that readers see has the file.
-- name: legal_holds.file
SELECT f.id FROM files f JOIN objects o ON o.id = f.object_id
WHERE f.id = ?1 AND o.id = ?2 AND EXISTS (SELECT 1 FROM entries e
    WHERE e.file_id = f.id AND e.generation = o.generation AND e.version <= o.head AND e.content_id IS NOT NULL)
-- name: legal_holds.file_row
SELECT f.id FROM files f WHERE f.id = ?1 AND f.object_id = ?2
-- name: legal_holds.of_collection
SELECT h.id, h.collection_id, h.object_id, h.file_id FROM legal_holds h
WHERE h.collection_id = ?1 AND h.released_at IS NULL ORDER BY h.id LIMIT ?2
-- Those on an object itself and on its files.
-- name: legal_holds.of_object
SELECT h.id, h.collection_id, h.object_id, h.file_id FROM legal_holds h
WHERE h.object_id = ?1 AND h.released_at IS NULL ORDER BY h.id LIMIT ?2
-- name: legal_holds.of_object_itself
SELECT h.id, h.collection_id, h.object_id, h.file_id FROM legal_holds h
WHERE h.object_id = ?1 AND h.file_id IS NULL AND h.released_at IS NULL ORDER BY h.id LIMIT ?2
-- name: legal_holds.of_file
SELECT h.id, h.collection_id, h.object_id, h.file_id FROM legal_holds h
WHERE h.file_id = ?1 AND h.object_id = ?2 AND h.released_at IS NULL ORDER BY h.id LIMIT 1
-- How many forbid the deletion of an object: those on it, on its files and on its collection.
-- name: legal_holds.count
SELECT (SELECT count(*) FROM legal_holds h WHERE h.object_id = ?1 AND h.released_at IS NULL)
    + (SELECT count(*) FROM objects o JOIN legal_holds h ON h.collection_id = o.collection_id
        WHERE o.id = ?1 AND h.released_at IS NULL) AS holds
-- How many are on a collection itself.
-- name: legal_holds.count_of_collection
SELECT count(*) AS holds FROM legal_holds h WHERE h.collection_id = ?1 AND h.released_at IS NULL
-- name: legal_holds.list
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE {legal_holds.asked_for}
-- name: legal_holds.list_of_object
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.object_id = ?5 AND {legal_holds.asked_for}
-- name: legal_holds.list_of_collection
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.collection_id = ?5 AND {legal_holds.asked_for}
