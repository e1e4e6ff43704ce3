-- Each message is attempted again after a time of its own. `next_attempt_at`: none before the first attempt failed.
ALTER TABLE outbox ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN next_attempt_at BIGINT;
ALTER TABLE outbox ADD COLUMN last_error TEXT;

-- Messages are delivered in order within an institution.
DROP INDEX outbox_undelivered;
CREATE INDEX outbox_undelivered ON outbox (kind, institution_id, id) WHERE delivered_at IS NULL;
