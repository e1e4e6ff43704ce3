-- Lists of record ids.
CREATE TABLE record_lists (
    id                BLOB PRIMARY KEY,
    -- The number that the next record gets.
    next_number       INTEGER  NOT NULL DEFAULT 1,
    -- How far the population has come, in the words of the one that populates.
    population_cursor TEXT,
    -- Whether every record is in the list.
    is_complete       INTEGER NOT NULL DEFAULT 0,
    -- Who populates, and until when. The fence rises with each that takes the population.
    population_fence  INTEGER  NOT NULL DEFAULT 0,
    populated_by      TEXT,
    populated_until   INTEGER,
    made_at           INTEGER  NOT NULL,
    -- Its rows are being deleted; readers do not find it any more.
    is_removed        INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX record_lists_removed ON record_lists (id) WHERE is_removed;

-- Counts of a list: their sums over the slots are exact. Each transaction changes one slot, so that workers do not wait for
-- each other; one slot alone may be negative. The lock of a slot also orders the sequence of what was processed.
CREATE TABLE record_slots (
    list_id    BLOB   NOT NULL REFERENCES record_lists (id),
    slot       INTEGER NOT NULL,
    todo       INTEGER NOT NULL DEFAULT 0,
    processing INTEGER NOT NULL DEFAULT 0,
    processed  INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0,
    cancelled  INTEGER NOT NULL DEFAULT 0,
    -- The last number that was given to a processed record.
    sequence   INTEGER NOT NULL DEFAULT 0,
    -- The highest number of a record that was claimed for the first time: a new claim looks on from there.
    claimed_to INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (list_id, slot)
) STRICT, WITHOUT ROWID;

-- What workers have claimed: a row for each chunk, which is its lease and its fence. It goes with its last record.
CREATE TABLE record_chunks (
    -- Made for one claim and never used again.
    id          BLOB PRIMARY KEY,
    -- Not a reference: the check would lock the row of the list in every claim. Slots go before the list does.
    list_id     BLOB   NOT NULL,
    slot        INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    -- Records of it that have not ended.
    open        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX record_chunks_by_lease ON record_chunks (lease_until, id);
CREATE INDEX record_chunks_by_worker ON record_chunks (worker, id);
CREATE INDEX record_chunks_by_list ON record_chunks (list_id, id);

-- state: 0 todo, 1 processing, 2 processed, 3 failed, 4 cancelled.
CREATE TABLE records (
    list_id    BLOB   NOT NULL,
    -- Its place in the list, from 1; numbers of repeated ids are left out.
    number     INTEGER NOT NULL,
    record     TEXT NOT NULL,
    state      INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    -- Of what is todo, in this order: 0 what came back, 1 what was never claimed, else the time before which it is not claimed.
    due        INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    chunk_id   BLOB,
    -- Where it stands among the processed: the slot, and the number there.
    slot       INTEGER,
    sequence   INTEGER,
    changed_at INTEGER NOT NULL,
    result     TEXT,
    error      TEXT,
    PRIMARY KEY (list_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX records_by_id ON records (list_id, record);
CREATE INDEX records_todo ON records (list_id, due, number) WHERE state = 0;
CREATE INDEX records_processing ON records (list_id, number) WHERE state = 1;
CREATE INDEX records_processed ON records (list_id, slot, sequence) WHERE state = 2;
CREATE INDEX records_failed ON records (list_id, number) WHERE state = 3;
CREATE INDEX records_cancelled ON records (list_id, number) WHERE state = 4;
