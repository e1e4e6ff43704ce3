-- Whom a collection has told is a part of its rules. Every version gets what the collection had: the batches that have it go on as they
-- began. `notify_to`: addresses of mails, a JSON list; none: nobody. `suppressed`: kinds of mails that are not sent, a JSON list.
-- `callback_required`: whether a deposit succeeds only when the program has confirmed its event.
ALTER TABLE collection_rules ADD COLUMN notify_to TEXT;
ALTER TABLE collection_rules ADD COLUMN suppressed TEXT;
ALTER TABLE collection_rules ADD COLUMN callback_url TEXT;
ALTER TABLE collection_rules ADD COLUMN callback_required BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE collection_rules SET
    notify_to = (SELECT nullif(n.addresses, '[]') FROM collection_notifications n
        WHERE n.collection_id = collection_rules.collection_id),
    suppressed = (SELECT nullif(n.suppressed, '[]') FROM collection_notifications n
        WHERE n.collection_id = collection_rules.collection_id),
    callback_url = (SELECT n.callback_url FROM collection_notifications n
        WHERE n.collection_id = collection_rules.collection_id);
DROP TABLE collection_notifications;

-- The addresses of one submission, instead of those of its collection: a JSON list.
ALTER TABLE batches ADD COLUMN notify_to TEXT;

-- The batch that a message is about.
ALTER TABLE outbox ADD COLUMN batch_id UUID;
CREATE INDEX outbox_by_batch ON outbox (batch_id, number) WHERE batch_id IS NOT NULL;
