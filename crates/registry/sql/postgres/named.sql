-- name: named.items
SELECT t.id FROM work_items t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.batches
SELECT t.id FROM batches t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.objects
SELECT t.id FROM objects t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3) AND t.state <> 'new'
ORDER BY t.id LIMIT $4
-- name: named.findings
SELECT t.id FROM findings t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.uploads
SELECT t.id FROM uploads t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.messages
SELECT t.id FROM outbox t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.files
SELECT t.id FROM files t JOIN objects o ON o.id = t.object_id
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR o.institution_id = $3)
ORDER BY t.id LIMIT $4

-- name: named.activities
SELECT t.id FROM activities t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.tool_findings
SELECT t.id FROM tool_findings t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.documents
SELECT t.id FROM documents t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.deletions
SELECT t.id FROM deletion_requests t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.legal_holds
SELECT t.id FROM legal_holds t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.spot_tests
SELECT t.id FROM spot_tests t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.problems
SELECT t.id FROM problems t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
-- name: named.sweeps
SELECT t.id FROM duplication_runs t
WHERE t.id >= $1 AND t.id <= $2 AND ($3::uuid IS NULL OR t.institution_id = $3)
ORDER BY t.id LIMIT $4
