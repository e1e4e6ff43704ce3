-- name: legal_holds.get
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.id = ?1 AND (?2 IS NULL OR h.institution_id = ?2)
-- What each list is given: 1 behind which hold, 2 the institution, 3 whether those that were released are listed too, 4 how many.
-- list: legal_holds.asked_for
h.id > ?1 AND (?2 IS NULL OR h.institution_id = ?2) AND (?3 OR h.released_at IS NULL)
ORDER BY h.id LIMIT ?4
-- name: legal_holds.list
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE {legal_holds.asked_for}
-- name: legal_holds.list_of_object
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.object_id = ?5 AND {legal_holds.asked_for}
-- name: legal_holds.list_of_collection
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.collection_id = ?5 AND {legal_holds.asked_for}
