-- Tasks that are waiting, leased or dead. A finished task is deleted: the table holds what is still to do.
-- state: 0 ready, 1 delayed, 2 leased, 3 dead.
CREATE TABLE task (
    id               INTEGER PRIMARY KEY,
    topic            TEXT    NOT NULL,
    key              TEXT    NOT NULL,
    state            INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
    priority         INTEGER NOT NULL,
    fair_key         TEXT    NOT NULL,
    -- The place in the line of a ready task: its turn and its priority in one number; the lowest is leased first.
    rank             INTEGER NOT NULL,
    -- Ready: since when. Delayed: not before. Dead: since when.
    ready_at         INTEGER NOT NULL,
    -- How often it was leased: the fence, never lowered.
    attempt          INTEGER NOT NULL DEFAULT 0,
    -- How many of these count against max_attempts.
    spent            INTEGER NOT NULL DEFAULT 0,
    max_attempts     INTEGER NOT NULL,
    holder           TEXT,
    lease_until      INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    enqueued_at      INTEGER NOT NULL,
    reason           TEXT,
    -- Set while leased, when somebody wants the key done once more: not before, and with what.
    again_at         INTEGER,
    again_priority   INTEGER,
    again_payload    BLOB,
    payload          BLOB    NOT NULL
) STRICT;

-- One live task per key and topic; a dead one does not stand in the way of a new one.
CREATE UNIQUE INDEX task_live ON task (key, topic) WHERE state < 3;
-- The line. Leasing reads its head only, so its cost does not grow with the backlog.
CREATE INDEX task_ready ON task (topic, rank, ready_at) WHERE state = 0;
CREATE INDEX task_delayed ON task (topic, ready_at) WHERE state = 1;
CREATE INDEX task_leased ON task (lease_until, topic) WHERE state = 2;
CREATE INDEX task_dead ON task (topic) WHERE state = 3;
CREATE INDEX task_dead_key ON task (key) WHERE state = 3;

-- The next task id. Ids are never used twice, or a late lease of a deleted task could fit a new one.
CREATE TABLE task_sequence (
    single INTEGER PRIMARY KEY CHECK (single = 1),
    next   INTEGER NOT NULL
) STRICT;
INSERT INTO task_sequence (single, next) VALUES (1, 1);

-- What a topic knows about itself; one that was never paused nor leased from has no row.
CREATE TABLE topic (
    name   TEXT    PRIMARY KEY,
    paused INTEGER NOT NULL DEFAULT 0,
    -- The latest turn that was leased: where who has not waited yet joins the line.
    clock  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The next free turn of each fair key within a topic and priority.
CREATE TABLE fair_share (
    topic    TEXT    NOT NULL,
    fair_key TEXT    NOT NULL,
    priority INTEGER NOT NULL,
    next     INTEGER NOT NULL,
    PRIMARY KEY (topic, fair_key, priority)
) STRICT, WITHOUT ROWID;
