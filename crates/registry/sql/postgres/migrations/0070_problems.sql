-- Problems: what is or was wrong in the installation, one row for each thing that can be wrong. A problem that returns is the same row. Rows
-- stay, as evidence of what became of each.
CREATE TABLE problems (
    id             UUID PRIMARY KEY,
    -- What identifies the problem among those of all sources, such as store:primary.
    key            TEXT COLLATE "C" NOT NULL UNIQUE,
    kind           TEXT COLLATE "C" NOT NULL,
    -- What a waiver is about: another fault of the same opens the problem again.
    fault          TEXT COLLATE "C" NOT NULL,
    state          TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'assigned', 'external', 'waived', 'resolved')),
    institution_id UUID REFERENCES institutions (id),
    -- What it is about, in words: a store, a topic, a background task, an object with a path.
    subject        TEXT COLLATE "C" NOT NULL,
    store          TEXT COLLATE "C",
    object_id      UUID,
    -- The finding of a check that it is about; the finding has the newest details.
    finding_id     UUID,
    detail         TEXT COLLATE "C" NOT NULL,
    -- The address of the user who works on it.
    assigned_to    TEXT COLLATE "C",
    -- The reference of somebody else's record of it, such as the ticket of a storage provider.
    ticket         TEXT COLLATE "C",
    -- Why it was waived, or what has shown that it is resolved.
    reason         TEXT COLLATE "C",
    -- When a waived one is opened again.
    waived_until   BIGINT,
    opened_at      BIGINT NOT NULL,
    -- When it was opened last, and how many times.
    reopened_at    BIGINT NOT NULL,
    times_opened   BIGINT NOT NULL,
    changed_at     BIGINT NOT NULL,
    resolved_at    BIGINT
);
CREATE INDEX problems_unresolved ON problems (id) WHERE state <> 'resolved';
CREATE INDEX problems_of_findings ON problems (finding_id) WHERE finding_id IS NOT NULL;

-- What became of each problem, and by whom.
CREATE TABLE problem_history (
    problem_id UUID NOT NULL,
    number     BIGINT NOT NULL,
    time       BIGINT NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    note       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (problem_id, number)
);
