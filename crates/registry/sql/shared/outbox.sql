-- The columns of a message as it is read from a row.
-- list: outbox.columns
o.id, o.number, o.institution_id, i.identifier AS institution_identifier, o.item_id, o.batch_id, o.key, o.kind, o.payload,
    o.created_at, o.delivered_at, o.undeliverable_at, o.attempts, o.next_attempt_at, o.last_error, o.progress
-- The same of one among many: a payload that is long is left out, and read by itself.
-- list: outbox.listed
o.id, o.number, o.institution_id, i.identifier AS institution_identifier, o.item_id, o.batch_id, o.key, o.kind,
    CASE WHEN length(o.payload) <= 10000 THEN o.payload END AS payload,
    o.created_at, o.delivered_at, o.undeliverable_at, o.attempts, o.next_attempt_at, o.last_error, o.progress
-- name: outbox.payload
SELECT payload FROM outbox WHERE id = ?1
-- name: outbox.next_institution
SELECT institution_id FROM outbox
WHERE delivered_at IS NULL AND undeliverable_at IS NULL AND kind = ?1 AND institution_id > ?2
ORDER BY institution_id LIMIT 1
-- name: outbox.undelivered
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.delivered_at IS NULL AND o.undeliverable_at IS NULL AND o.kind = ?1 AND o.institution_id = ?2
    AND o.number > ?3
ORDER BY o.number LIMIT ?4
-- name: outbox.delivered
UPDATE outbox SET delivered_at = ?2, undeliverable_at = NULL WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.removed
UPDATE outbox SET delivered_at = ?2, undeliverable_at = NULL, key = ?3 WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.failed
UPDATE outbox SET attempts = attempts + 1, next_attempt_at = ?2, last_error = ?3 WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.waiting
SELECT count(*) AS messages, min(created_at) AS oldest_created_at FROM outbox
WHERE delivered_at IS NULL AND undeliverable_at IS NULL AND kind = ?1
-- name: outbox.overdue
SELECT count(*) AS messages FROM outbox
WHERE delivered_at IS NULL AND undeliverable_at IS NULL AND kind = ?1 AND (created_at < ?2 OR created_at > ?3)
-- name: outbox.overdue_error
SELECT last_error FROM outbox
WHERE delivered_at IS NULL AND undeliverable_at IS NULL AND kind = ?1 AND (created_at < ?2 OR created_at > ?3)
    AND last_error IS NOT NULL ORDER BY number LIMIT 1
-- name: outbox.set_undeliverable
UPDATE outbox SET undeliverable_at = ?2, last_error = ?3 WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.send_again
UPDATE outbox SET undeliverable_at = NULL, next_attempt_at = NULL, attempts = 0
WHERE id = ?1 AND undeliverable_at IS NOT NULL
-- name: outbox.count_undeliverable
SELECT count(*) AS messages FROM outbox WHERE undeliverable_at IS NOT NULL
-- name: outbox.undeliverable
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.undeliverable_at IS NOT NULL AND o.number > ?1 ORDER BY o.number LIMIT ?2
-- name: outbox.get
SELECT {outbox.columns}
FROM outbox o JOIN institutions i ON i.id = o.institution_id WHERE o.id = ?1
-- name: outbox.by_key
SELECT {outbox.columns}
FROM outbox o JOIN institutions i ON i.id = o.institution_id WHERE o.key = ?1
-- name: outbox.reserve
UPDATE outbox SET next_attempt_at = ?2 WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.progress
UPDATE outbox SET progress = ?2 WHERE id = ?1
-- name: outbox.replace
UPDATE outbox SET payload = ?2, progress = ?3, undeliverable_at = NULL, next_attempt_at = NULL, attempts = 0
WHERE id = ?1 AND delivered_at IS NULL
-- name: outbox.attempted
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.delivered_at IS NULL AND o.undeliverable_at IS NULL AND o.kind = ?1 AND o.number > ?2 ORDER BY o.number LIMIT ?3
-- name: outbox.of_batch
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.batch_id = ?1 AND o.number < ?2
    AND (o.item_id IS NULL OR o.kind <> 'callback' OR o.delivered_at IS NULL OR o.key LIKE 'removed %')
ORDER BY o.number DESC LIMIT ?3
-- name: outbox.undeliverable_of_batch
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.batch_id = ?1 AND o.undeliverable_at IS NOT NULL AND o.number > ?2 ORDER BY o.number LIMIT ?3
-- Mails about a batch that were not delivered, or were refused for some of their recipients.
-- name: outbox.undelivered_mails_of_batch
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.batch_id = ?1 AND o.kind = 'mail' AND o.key NOT LIKE 'removed %' AND o.number > ?2
    AND (o.delivered_at IS NULL OR o.progress LIKE '%"refused":[{%')
ORDER BY o.number LIMIT ?3
-- name: outbox.failing
SELECT {outbox.listed}
FROM outbox o JOIN institutions i ON i.id = o.institution_id
WHERE o.delivered_at IS NULL AND o.undeliverable_at IS NULL AND o.kind = ?1 AND o.attempts > 0 ORDER BY o.number LIMIT ?2
-- name: outbox.count_failing
SELECT count(*) AS messages FROM outbox
WHERE delivered_at IS NULL AND undeliverable_at IS NULL AND kind = ?1 AND attempts > 0
-- name: outbox.counts_of_batch
-- A message that a person removed has an end and was never delivered; of a mail, `progress` names the recipients who were refused.
SELECT o.kind, count(*) AS messages,
    count(CASE WHEN o.delivered_at IS NOT NULL AND o.key NOT LIKE 'removed %' THEN 1 END) AS delivered,
    count(CASE WHEN o.delivered_at IS NOT NULL AND o.key NOT LIKE 'removed %' AND o.kind = 'mail'
        AND o.progress LIKE '%"refused":[{%' THEN 1 END) AS incomplete,
    count(CASE WHEN o.delivered_at IS NOT NULL AND o.key LIKE 'removed %' THEN 1 END) AS removed,
    count(o.undeliverable_at) AS undeliverable
FROM outbox o WHERE o.batch_id = ?1 GROUP BY o.kind ORDER BY o.kind
