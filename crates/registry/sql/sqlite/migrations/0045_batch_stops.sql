-- What people asked of batches: that every item of it that is open is cancelled or fails. A row stands until each has been told, so that
-- no stage of the others begins meanwhile.
CREATE TABLE batch_stops (
    batch_id BLOB    PRIMARY KEY REFERENCES batches (id) ON DELETE CASCADE,
    status   TEXT    NOT NULL CHECK (status IN ('cancelled', 'failed')),
    asked_by TEXT    NOT NULL,
    reason   TEXT,
    asked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
