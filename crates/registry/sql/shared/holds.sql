-- list: holds.rows
SELECT h.subject_id, h.kind, h.placed_by, h.reason, h.placed_at, i.identifier AS institution_identifier,
    c.identifier AS collection_identifier,
    EXISTS (SELECT 1 FROM batches b WHERE b.id = h.subject_id AND b.state = 'deleted') AS is_of_deletion
FROM holds h JOIN institutions i ON i.id = h.institution_id LEFT JOIN collections c ON c.id = h.subject_id
-- name: holds.place
INSERT INTO holds (subject_id, kind, institution_id, placed_by, reason, placed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (subject_id) DO NOTHING
RETURNING subject_id
-- name: holds.lift
DELETE FROM holds WHERE subject_id = ?1 RETURNING subject_id
-- name: holds.of
{holds.rows}
WHERE h.subject_id IN (?1, ?2, ?3) ORDER BY h.placed_at, h.subject_id
-- name: holds.of_kind
{holds.rows}
WHERE h.kind = ?1 ORDER BY h.placed_at LIMIT ?2
-- name: holds.any
SELECT EXISTS (SELECT 1 FROM holds WHERE kind IN ('collection', 'batch', 'item')) AS has_any
-- name: holds.page
SELECT w.id, {items.is_on_hold} AS is_on_hold FROM work_items w
WHERE w.status = ?1 AND w.id > ?2 ORDER BY w.id LIMIT ?3
-- name: holds.page_of_batch
SELECT w.id, {items.is_on_hold} AS is_on_hold FROM work_items w
WHERE w.batch_id = ?4 AND w.status = ?1 AND w.id > ?2 ORDER BY w.id LIMIT ?3
-- name: batches.make_list
UPDATE work_items SET list_state = 'made' WHERE id = ?1
-- name: batches.count_rows
UPDATE batches SET row_count = (SELECT count(*) FROM work_items w WHERE w.batch_id = ?1 AND w.list_state IS NULL)
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.batch_id = ?1 AND w.list_state = 'open')
