-- What tools have found in files that are kept, such as a virus: a row for each file, content and tool.
CREATE TABLE tool_findings (
    -- Follows from file, content and tool.
    id             UUID PRIMARY KEY,
    institution_id UUID   NOT NULL,
    object_id      UUID   NOT NULL,
    file_id        UUID   NOT NULL,
    content_id     UUID   NOT NULL,
    tool           TEXT   NOT NULL,
    detail         TEXT   NOT NULL,
    state          TEXT   NOT NULL CHECK (state IN ('open', 'passed', 'dismissed')),
    found_at       BIGINT NOT NULL,
    settled_at     BIGINT,
    -- Why it was dismissed.
    note           TEXT
);
CREATE INDEX tool_findings_open ON tool_findings (institution_id, id) WHERE state = 'open';
