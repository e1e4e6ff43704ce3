-- Inserts a row, or locks the one there is until the transaction ends.
-- name: object_ids.claim
INSERT INTO object_ids (institution_id, kind, value, object_identifier, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (institution_id, kind, value) DO UPDATE SET value = object_ids.value
RETURNING object_identifier
-- Whether an identifier of an object is more than the trace of a deposit that failed: the object has it, or an open deposit names it.
-- name: object_ids.is_binding
SELECT EXISTS (SELECT 1 FROM objects o WHERE o.institution_id = ?1 AND o.identifier = ?2 AND o.state <> 'new'
        AND (o.ark = ?4 OR EXISTS (SELECT 1 FROM local_ids l WHERE l.object_id = o.id AND l.local_id = ?4)))
    OR EXISTS (SELECT 1 FROM work_items w {items.by_open_name} WHERE w.institution_id = ?1 AND w.object_identifier = ?2
        AND w.status IN ('pending', 'started', 'held') AND w.action = 'ingest' AND w.id <> ?3) AS is_binding
-- name: object_ids.set
UPDATE object_ids SET object_identifier = ?4 WHERE institution_id = ?1 AND kind = ?2 AND value = ?3
-- name: object_ids.find
SELECT object_identifier FROM object_ids WHERE institution_id = ?1 AND kind = ?2 AND value = ?3
-- Whether an institution has an object of this identifier, or a work item that is going to make one.
-- name: object_ids.is_name_taken
SELECT EXISTS (SELECT 1 FROM objects o WHERE o.institution_id = ?1 AND o.identifier = ?2 AND o.state <> 'new')
    OR EXISTS (SELECT 1 FROM work_items w {items.by_open_name} WHERE w.institution_id = ?1 AND w.object_identifier = ?2
        AND w.status IN ('pending', 'started', 'held') AND w.id <> ?3) AS is_taken
-- name: object_ids.has_foreign_ark
SELECT 1 AS found FROM object_ids WHERE kind = 'ark' AND value = ?2 AND institution_id <> ?1
-- An object that has no version yet may get another ARK: nothing that is kept names the first.
-- name: object_ids.set_ark
UPDATE objects SET ark = ?2 WHERE id = ?1 AND (ark IS NULL OR state = 'new') AND coalesce(ark, '') <> ?2
-- Takes an ARK away from an object without versions, where it belongs to another one now.
-- name: object_ids.clear_ark
UPDATE objects SET ark = NULL WHERE institution_id = ?1 AND identifier = ?2 AND ark = ?3 AND state = 'new'
-- name: object_ids.arks_of
SELECT value FROM object_ids WHERE institution_id = ?1 AND object_identifier = ?2 AND kind = 'ark' ORDER BY created_at, value
-- An ARK that is recorded already, for whichever object, stays as it is.
-- name: object_ids.insert_ark
INSERT INTO object_ids (institution_id, kind, value, object_identifier, created_at) VALUES (?1, 'ark', ?2, ?3, ?4)
ON CONFLICT DO NOTHING
-- name: object_ids.by_ark
SELECT institution_id, object_identifier FROM object_ids
WHERE kind = 'ark' AND value = ?1 AND coalesce(?2, institution_id) = institution_id
