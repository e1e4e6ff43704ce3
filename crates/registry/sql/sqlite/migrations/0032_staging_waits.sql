-- Items that wait for space in staging, and since when: one that has waited for long is first.
CREATE TABLE staging_waits (
    item_id BLOB    PRIMARY KEY REFERENCES work_items (id),
    -- What it will reserve.
    bytes   INTEGER NOT NULL,
    -- What must be free for it to begin.
    needed  INTEGER NOT NULL,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX staging_waits_by_time ON staging_waits (since, item_id);
