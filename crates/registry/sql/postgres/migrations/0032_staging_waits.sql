-- Items that wait for space in staging, and since when: one that has waited for long is first.
CREATE TABLE staging_waits (
    item_id UUID   PRIMARY KEY REFERENCES work_items (id),
    -- What it will reserve.
    bytes   BIGINT NOT NULL,
    -- What must be free for it to begin.
    needed  BIGINT NOT NULL,
    since   BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
CREATE INDEX staging_waits_by_time ON staging_waits (since, item_id);
