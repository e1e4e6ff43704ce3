-- name: legal_holds.get
SELECT {legal_holds.columns} FROM {legal_holds.tables}
WHERE h.id = ?1 AND (?2 IS NULL OR h.institution_id = ?2)
-- What each list is given: 1 behind which hold, 2 the institution, 3 whether those that were released are listed too, 4 how many.
-- list: legal_holds.asked_for
h.id > ?1 AND (?2 IS NULL OR h.institution_id = ?2) AND (?3 OR h.released_at IS NULL)
ORDER BY h.id LIMIT ?4
