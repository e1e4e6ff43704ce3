-- Lines of the journal and messages of the outbox in the order in which they were written, whatever the clocks of the
-- machines say: a number that is given in the transaction that writes them. Those of before keep the order of their
-- identifiers.
DROP TRIGGER journal_is_not_changed;
ALTER TABLE journal ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE journal SET number = ordered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM journal) AS ordered WHERE ordered.id = journal.id;
CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'a line of the journal is never changed'); END;
CREATE UNIQUE INDEX journal_by_number ON journal (number);
DROP TRIGGER journal_is_not_replaced;
CREATE TRIGGER journal_is_not_replaced BEFORE INSERT ON journal
    WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM journal WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'a line of the journal is never changed'); END;
DROP INDEX journal_by_institution;
CREATE INDEX journal_by_institution ON journal (institution_id, number);
DROP INDEX journal_by_actor;
CREATE INDEX journal_by_actor ON journal (actor_id, number);
CREATE INDEX journal_refusals ON journal (actor_id, act, time) WHERE outcome = 'refused';

ALTER TABLE outbox ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET number = ordered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM outbox) AS ordered WHERE ordered.id = outbox.id;
CREATE UNIQUE INDEX outbox_by_number ON outbox (number);
DROP INDEX outbox_undelivered;
CREATE INDEX outbox_undelivered ON outbox (kind, institution_id, number) WHERE delivered_at IS NULL;

-- The numbers of the next: sequences in PostgreSQL, which are set by these where the registry is moved there.
CREATE VIEW journal_number AS SELECT coalesce(max(number), 0) + 1 AS next FROM journal;
CREATE VIEW outbox_number AS SELECT coalesce(max(number), 0) + 1 AS next FROM outbox;
