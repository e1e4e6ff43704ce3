-- name: notifications.get
SELECT addresses, suppressed, callback_url FROM collection_notifications WHERE collection_id = ?1
-- name: notifications.of_batch
SELECT n.addresses, n.suppressed, n.callback_url FROM collection_notifications n JOIN batches b ON b.collection_id = n.collection_id
WHERE b.id = ?1
-- name: notifications.set
INSERT INTO collection_notifications (collection_id, addresses, suppressed, callback_url) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (collection_id) DO UPDATE SET addresses = ?2, suppressed = ?3, callback_url = ?4
-- name: notifications.remove
DELETE FROM collection_notifications WHERE collection_id = ?1
