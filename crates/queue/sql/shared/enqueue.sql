-- Putting tasks into the line.

-- name: queue_return_turns
UPDATE fair_share SET next = next - ?4 WHERE topic = ?1 AND fair_key = ?2 AND priority = ?3
