-- What tools find in documents as well as in files, and which activity found it last.
CREATE TABLE findings_of_tools (
    -- Follows from what it was found in, and the tool.
    id             BLOB PRIMARY KEY,
    institution_id BLOB    NOT NULL,
    -- A file with its content, or a document with the record that it was made of.
    object_id      BLOB,
    file_id        BLOB,
    content_id     BLOB,
    document_id    BLOB,
    record         TEXT,
    tool           TEXT    NOT NULL,
    detail         TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('open', 'passed', 'dismissed')),
    -- None where that is not known.
    activity_id    BLOB,
    found_at       INTEGER NOT NULL,
    settled_at     INTEGER,
    -- Why it was dismissed.
    note           TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO findings_of_tools (id, institution_id, object_id, file_id, content_id, tool, detail, state, found_at, settled_at, note)
SELECT id, institution_id, object_id, file_id, content_id, tool, detail, state, found_at, settled_at, note FROM tool_findings;
DROP TABLE tool_findings;
ALTER TABLE findings_of_tools RENAME TO tool_findings;
CREATE INDEX tool_findings_open ON tool_findings (institution_id, id) WHERE state = 'open';

-- How many files and documents a tool has passed and failed in a run of an activity: the sums over slots, so that workers wait less for
-- each other.
CREATE TABLE tool_outcomes (
    activity_id BLOB    NOT NULL,
    run         INTEGER NOT NULL,
    slot        INTEGER NOT NULL,
    passed      INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    PRIMARY KEY (activity_id, run, slot)
) STRICT, WITHOUT ROWID;

-- When workers went on with the run last, and how many of its records had ended by then.
ALTER TABLE activities ADD COLUMN resumed_at INTEGER;
ALTER TABLE activities ADD COLUMN ended_before INTEGER NOT NULL DEFAULT 0;
