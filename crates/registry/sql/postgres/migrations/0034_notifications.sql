-- Mails and callbacks stay in the outbox until they are delivered. `progress`: what a channel did of a delivery that is not
-- complete, such as the recipients who have a mail.
ALTER TABLE outbox ADD COLUMN progress TEXT;
DROP INDEX outbox_by_time;
CREATE INDEX outbox_by_time ON outbox (created_at)
    WHERE delivered_at IS NOT NULL
    OR (kind <> 'upload_expires' AND kind <> 'ezid' AND kind <> 'mail' AND kind <> 'callback');
