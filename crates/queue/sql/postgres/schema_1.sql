-- Tasks that are waiting, leased or dead. A finished task is deleted: the table holds what is still to do.
-- state: 0 ready, 1 delayed, 2 leased, 3 dead.
--
-- The table is small and changes all the time: room is left in its pages, and it is swept after so many dead rows, not
-- after a share of its size. Texts are compared by their bytes, as in the other dialect.
CREATE TABLE task (
    id               BIGINT PRIMARY KEY,
    topic            TEXT COLLATE "C" NOT NULL,
    key              TEXT COLLATE "C" NOT NULL,
    state            BIGINT  NOT NULL CHECK (state BETWEEN 0 AND 3),
    priority         BIGINT  NOT NULL,
    fair_key         TEXT COLLATE "C" NOT NULL,
    -- The place in the line of a ready task: its turn and its priority in one number; the lowest is leased first.
    rank             BIGINT  NOT NULL,
    -- Ready: since when. Delayed: not before. Dead: since when.
    ready_at         BIGINT  NOT NULL,
    -- How often it was leased: the fence, never lowered.
    attempt          BIGINT  NOT NULL DEFAULT 0,
    -- How many of these count against max_attempts.
    spent            BIGINT  NOT NULL DEFAULT 0,
    max_attempts     BIGINT  NOT NULL,
    holder           TEXT COLLATE "C",
    lease_until      BIGINT,
    cancel_requested BOOLEAN NOT NULL DEFAULT FALSE,
    enqueued_at      BIGINT  NOT NULL,
    reason           TEXT,
    -- Set while leased, when somebody wants the key done once more: not before, and with what.
    again_at         BIGINT,
    again_priority   BIGINT,
    again_payload    BYTEA,
    payload          BYTEA   NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 2000);

-- One live task per key and topic; a dead one does not stand in the way of a new one.
CREATE UNIQUE INDEX task_live ON task (key, topic) WHERE state < 3;
-- The line. Leasing reads its head only, so its cost does not grow with the backlog.
CREATE INDEX task_ready ON task (topic, rank, ready_at, id) WHERE state = 0;
CREATE INDEX task_delayed ON task (topic, ready_at, id) WHERE state = 1;
CREATE INDEX task_leased ON task (lease_until, id) WHERE state = 2;
CREATE INDEX task_dead ON task (topic, id) WHERE state = 3;
CREATE INDEX task_dead_key ON task (key) WHERE state = 3;

-- Task ids. They are never used twice, or a late lease of a deleted task could fit a new one.
CREATE SEQUENCE task_sequence;

-- What a topic knows about itself; one that was never paused nor leased from has no row.
CREATE TABLE topic (
    name   TEXT COLLATE "C" PRIMARY KEY,
    paused BOOLEAN NOT NULL DEFAULT FALSE,
    -- The latest turn that was leased: where who has not waited yet joins the line.
    clock  BIGINT  NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0);

-- The next free turn of each fair key within a topic and priority.
CREATE TABLE fair_share (
    topic    TEXT COLLATE "C" NOT NULL,
    fair_key TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    next     BIGINT NOT NULL,
    PRIMARY KEY (topic, fair_key, priority)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0);
