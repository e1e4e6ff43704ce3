-- Messages to EZID stay in the outbox until they are delivered.
DROP INDEX outbox_by_time;
CREATE INDEX outbox_by_time ON outbox (created_at)
    WHERE delivered_at IS NOT NULL OR (kind <> 'upload_expires' AND kind <> 'ezid');
