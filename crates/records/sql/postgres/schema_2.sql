-- States of records get a table of their own, so that a record is written when it is added and not again: who claims records that were
-- never claimed notes how far the list is claimed and which numbers the chunk has, and the end of a record is one row.
ALTER TABLE record_slots DROP COLUMN claimed_to;

-- How far a list is claimed. The lock of the row is what those who claim for the first time follow each other by.
CREATE TABLE record_cursors (
    list_id    UUID   PRIMARY KEY REFERENCES record_lists (id),
    -- The highest number that was claimed, or cancelled, for the first time: of what has no state of its own, all behind it is to be
    -- processed.
    claimed_to BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0);
INSERT INTO record_cursors (list_id, claimed_to)
SELECT id, coalesce((SELECT min(number) FROM records WHERE list_id = record_lists.id AND state = 0 AND due = 1), next_number) - 1
FROM record_lists WHERE is_removed = FALSE;

-- Of the open records of a chunk, so many have a row in record_states that names the chunk. The others are those behind
-- after_number, up to to_number, that have no state.
ALTER TABLE record_chunks ADD COLUMN marked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE record_chunks ADD COLUMN after_number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE record_chunks ADD COLUMN to_number BIGINT NOT NULL DEFAULT 0;
-- Whether a number between them is of no record, or of one that arrived with a state.
ALTER TABLE record_chunks ADD COLUMN has_gaps BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE record_chunks ADD COLUMN claimed_at BIGINT NOT NULL DEFAULT 0;
UPDATE record_chunks SET marked = open;

-- The state of each record that arrived with one, has ended, was cancelled, or came back.
-- state: 0 todo, 1 processing, 2 processed, 3 failed, 4 cancelled.
CREATE TABLE record_states (
    list_id    UUID   NOT NULL,
    number     BIGINT NOT NULL,
    state      BIGINT NOT NULL CHECK (state BETWEEN 0 AND 4),
    -- Of what is todo: 0 what came back, else the time before which it is not claimed. What was never claimed is between them.
    due        BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    chunk_id   UUID,
    -- Where it stands among the processed: the slot, and the number there.
    slot       BIGINT,
    sequence   BIGINT,
    changed_at BIGINT NOT NULL,
    result     TEXT,
    error      TEXT,
    PRIMARY KEY (list_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
INSERT INTO record_states (
    list_id, number, state, due, attempts, chunk_id, slot, sequence, changed_at, result, error
)
SELECT list_id, number, state, due, attempts, chunk_id, slot, sequence, changed_at, result, error
FROM records WHERE state <> 0 OR due <> 1 ORDER BY list_id, number;

CREATE TABLE records_2 (
    list_id   UUID   NOT NULL,
    -- Its place in the list, from 1; numbers of repeated ids are left out.
    number    BIGINT NOT NULL,
    record    TEXT COLLATE "C" NOT NULL,
    added_at  BIGINT NOT NULL,
    -- Whether it arrived with a state, so that no claim of a range of numbers takes it.
    has_state BOOLEAN NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
INSERT INTO records_2 (list_id, number, record, added_at, has_state)
SELECT list_id, number, record, changed_at, state <> 0 OR due <> 1 FROM records ORDER BY list_id, number;
DROP TABLE records;
ALTER TABLE records_2 RENAME TO records;
ALTER TABLE records ADD CONSTRAINT records_pkey PRIMARY KEY (list_id, number);
CREATE UNIQUE INDEX records_by_id ON records (list_id, record);
CREATE INDEX record_states_todo ON record_states (list_id, due, number) WHERE state = 0;
CREATE INDEX record_states_processing ON record_states (list_id, number) WHERE state = 1;
CREATE INDEX record_states_processed ON record_states (list_id, slot, sequence) WHERE state = 2;
CREATE INDEX record_states_failed ON record_states (list_id, number) WHERE state = 3;
CREATE INDEX record_states_cancelled ON record_states (list_id, number) WHERE state = 4;
