-- name: notifications.of_batch
SELECT coalesce(b.notify_to, r.notify_to) AS notify_to, r.suppressed, r.callback_url,
    coalesce(r.callback_required, FALSE) AS callback_required
FROM batches b LEFT JOIN collection_rules r ON r.collection_id = b.collection_id AND r.version = b.rules_version
WHERE b.id = ?1
