-- What people asked of batches: that every item of it that is open is cancelled or fails. A row stands until each has been told, so that
-- no stage of the others begins meanwhile.
CREATE TABLE batch_stops (
    batch_id UUID   PRIMARY KEY REFERENCES batches (id) ON DELETE CASCADE,
    status   TEXT   NOT NULL COLLATE "C" CHECK (status IN ('cancelled', 'failed')),
    asked_by TEXT   NOT NULL COLLATE "C",
    reason   TEXT   COLLATE "C",
    asked_at BIGINT NOT NULL
);
