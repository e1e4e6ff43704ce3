-- Lines of the journal and messages of the outbox in the order in which they were written, whatever the clocks of the
-- machines say: a number that is given in the transaction that writes them. Those of before keep the order of their
-- identifiers.
ALTER TABLE journal DISABLE TRIGGER journal_is_append_only;
ALTER TABLE journal ADD COLUMN number BIGINT;
UPDATE journal SET number = ordered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM journal) AS ordered WHERE ordered.id = journal.id;
ALTER TABLE journal ALTER COLUMN number SET NOT NULL;
ALTER TABLE journal ENABLE TRIGGER journal_is_append_only;
CREATE UNIQUE INDEX journal_by_number ON journal (number);
DROP INDEX journal_by_institution;
CREATE INDEX journal_by_institution ON journal (institution_id, number);
DROP INDEX journal_by_actor;
CREATE INDEX journal_by_actor ON journal (actor_id, number);
CREATE INDEX journal_refusals ON journal (actor_id, act, time) WHERE outcome = 'refused';
CREATE SEQUENCE journal_number;
SELECT setval('journal_number', coalesce(max(number), 0) + 1, false) FROM journal;

ALTER TABLE outbox ADD COLUMN number BIGINT;
UPDATE outbox SET number = ordered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM outbox) AS ordered WHERE ordered.id = outbox.id;
ALTER TABLE outbox ALTER COLUMN number SET NOT NULL;
CREATE UNIQUE INDEX outbox_by_number ON outbox (number);
DROP INDEX outbox_undelivered;
CREATE INDEX outbox_undelivered ON outbox (kind, institution_id, number) WHERE delivered_at IS NULL;
CREATE SEQUENCE outbox_number;
SELECT setval('outbox_number', coalesce(max(number), 0) + 1, false) FROM outbox;
