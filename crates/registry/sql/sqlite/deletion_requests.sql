-- name: deletion_requests.get
SELECT {deletion_requests.columns} FROM {deletion_requests.tables}
WHERE r.id = ?1 AND (?2 IS NULL OR r.institution_id = ?2)
-- name: deletion_requests.list
SELECT {deletion_requests.columns} FROM {deletion_requests.tables}
WHERE r.id > ?1 AND (?2 IS NULL OR r.institution_id = ?2) AND (?3 IS NULL OR r.state = ?3) ORDER BY r.id LIMIT ?4
-- name: deletion_requests.list_of_institution
SELECT {deletion_requests.columns} FROM {deletion_requests.tables}
WHERE r.institution_id = ?2 AND r.id > ?1 AND (?3 IS NULL OR r.state = ?3) ORDER BY r.id LIMIT ?4
-- name: deletion_requests.list_of_object
SELECT {deletion_requests.columns} FROM {deletion_requests.tables}
WHERE r.id > ?1 AND (?2 IS NULL OR r.institution_id = ?2) AND (?3 IS NULL OR r.state = ?3)
    AND r.id IN (SELECT t.request_id FROM deletion_targets t WHERE t.object_id = ?5) ORDER BY r.id LIMIT ?4
-- Whether a request is approved; it stays so until the end of the transaction.
-- name: deletion_requests.keep_approved
SELECT 1 AS found FROM deletion_requests WHERE id = ?1 AND state = 'approved'
