-- A message that can never be delivered as things are, such as one for a store that has left the settings, is not attempted any
-- more: since when. A person has it sent again, or removes it.
ALTER TABLE outbox ADD COLUMN undeliverable_at BIGINT;
DROP INDEX outbox_undelivered;
CREATE INDEX outbox_undelivered ON outbox (kind, institution_id, number)
    WHERE delivered_at IS NULL AND undeliverable_at IS NULL;
CREATE INDEX outbox_undeliverable ON outbox (number) WHERE undeliverable_at IS NOT NULL;
