-- What tools have found in files that are kept, such as a virus: a row for each file, content and tool.
CREATE TABLE tool_findings (
    -- Follows from file, content and tool.
    id             BLOB PRIMARY KEY,
    institution_id BLOB    NOT NULL,
    object_id      BLOB    NOT NULL,
    file_id        BLOB    NOT NULL,
    content_id     BLOB    NOT NULL,
    tool           TEXT    NOT NULL,
    detail         TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('open', 'passed', 'dismissed')),
    found_at       INTEGER NOT NULL,
    settled_at     INTEGER,
    -- Why it was dismissed.
    note           TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_findings_open ON tool_findings (institution_id, id) WHERE state = 'open';
