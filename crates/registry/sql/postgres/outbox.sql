-- name: outbox.insert
INSERT INTO outbox (id, institution_id, item_id, key, kind, payload, created_at, batch_id, number)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, nextval('outbox_number'))
ON CONFLICT (key) DO NOTHING
