-- Problems: what is or was wrong in the installation, one row for each thing that can be wrong. A problem that returns is the same row. Rows
-- stay, as evidence of what became of each.
CREATE TABLE problems (
    id             BLOB PRIMARY KEY,
    -- What identifies the problem among those of all sources, such as store:primary.
    key            TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL,
    -- What a waiver is about: another fault of the same opens the problem again.
    fault          TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('open', 'assigned', 'external', 'waived', 'resolved')),
    institution_id BLOB REFERENCES institutions (id),
    -- What it is about, in words: a store, a topic, a background task, an object with a path.
    subject        TEXT NOT NULL,
    store          TEXT,
    object_id      BLOB,
    -- The finding of a check that it is about; the finding has the newest details.
    finding_id     BLOB,
    detail         TEXT NOT NULL,
    -- The address of the user who works on it.
    assigned_to    TEXT,
    -- The reference of somebody else's record of it, such as the ticket of a storage provider.
    ticket         TEXT,
    -- Why it was waived, or what has shown that it is resolved.
    reason         TEXT,
    -- When a waived one is opened again.
    waived_until   INTEGER,
    opened_at      INTEGER NOT NULL,
    -- When it was opened last, and how many times.
    reopened_at    INTEGER NOT NULL,
    times_opened   INTEGER NOT NULL,
    changed_at     INTEGER NOT NULL,
    resolved_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX problems_unresolved ON problems (id) WHERE state <> 'resolved';
CREATE INDEX problems_of_findings ON problems (finding_id) WHERE finding_id IS NOT NULL;

-- What became of each problem, and by whom.
CREATE TABLE problem_history (
    problem_id BLOB NOT NULL,
    number     INTEGER NOT NULL,
    time       INTEGER NOT NULL,
    state      TEXT NOT NULL,
    actor      TEXT NOT NULL,
    note       TEXT NOT NULL,
    PRIMARY KEY (problem_id, number)
) STRICT, WITHOUT ROWID;
