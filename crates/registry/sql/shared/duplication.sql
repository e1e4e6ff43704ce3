-- Duplication policies.
-- list: duplication_policies.columns
version, deletes, reason, set_by, user_id, set_at, approved_by, approved_at

-- name: duplication_policies.newest
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 ORDER BY version DESC LIMIT 1

-- name: duplication_policies.get
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 AND version = ?2

-- name: duplication_policies.document
SELECT document FROM duplication_policies WHERE institution_id = ?1 AND version = ?2

-- name: duplication_policies.list
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 AND version > ?2
ORDER BY version LIMIT ?3

-- name: duplication_policies.insert
INSERT INTO duplication_policies (institution_id, version, deletes, reason, set_by, user_id, set_at, document)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: duplication_policies.approve
UPDATE duplication_policies SET approved_by = ?3, approved_at = ?4
WHERE institution_id = ?1 AND version = ?2 AND approved_at IS NULL
