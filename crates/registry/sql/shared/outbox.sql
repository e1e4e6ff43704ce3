-- name: outbox.undelivered
SELECT o.id, o.institution_id, i.identifier AS institution_identifier, o.item_id, o.key, o.kind, o.payload,
    o.created_at, o.delivered_at
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.delivered_at IS NULL AND o.kind = ?1 AND o.id > ?2 ORDER BY o.id LIMIT ?3
-- name: outbox.delivered
UPDATE outbox SET delivered_at = ?2 WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.waiting
SELECT kind, count(*) AS messages, min(created_at) AS oldest_created_at FROM outbox WHERE delivered_at IS NULL
GROUP BY kind ORDER BY kind
