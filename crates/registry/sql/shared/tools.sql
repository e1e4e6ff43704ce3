-- Files that tools are run for, and what the tools have found in them.

-- list: tool_findings.columns
t.id, t.institution_id, i.identifier AS institution_identifier, t.object_id, o.identifier AS object_identifier, t.file_id,
    f.path, t.content_id, t.document_id, t.record, t.tool, t.detail, t.state, t.activity_id, t.found_at, t.settled_at, t.note

-- list: tool_findings.tables
tool_findings t JOIN institutions i ON i.id = t.institution_id LEFT JOIN objects o ON o.id = t.object_id
LEFT JOIN files f ON f.id = t.file_id

-- What each path of an object holds from a version on, but for the records of the program itself.
-- name: tools.files
SELECT e.version, e.file_id
FROM objects o
JOIN entries e ON e.object_id = o.id AND e.generation = o.generation AND e.version <= o.head
JOIN files f ON f.id = e.file_id
WHERE o.id = ?1 AND e.content_id IS NOT NULL AND (f.path < 'metadata/' OR f.path >= 'metadata0')
    AND (e.version, e.file_id) > (?2, ?3)
ORDER BY e.version, e.file_id LIMIT ?4

-- name: tool_findings.open
INSERT INTO tool_findings (id, institution_id, object_id, file_id, content_id, document_id, record, tool, detail, state,
    found_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'open', ?10)
ON CONFLICT (id) DO UPDATE SET state = 'open', detail = excluded.detail, found_at = excluded.found_at, settled_at = NULL,
    note = NULL
    -- One that a person has dismissed is opened by another answer only.
    WHERE tool_findings.state = 'passed' OR (tool_findings.state = 'dismissed' AND tool_findings.detail <> excluded.detail)

-- name: tool_findings.found_by
UPDATE tool_findings SET activity_id = ?2 WHERE id = ?1

-- name: tool_findings.found_in
INSERT INTO findings_of_activities (activity_id, finding_id) VALUES (?2, ?1) ON CONFLICT (activity_id, finding_id) DO NOTHING

-- name: tool_findings.settle
UPDATE tool_findings SET state = ?2, settled_at = ?3, note = ?4 WHERE id = ?1 AND state = 'open'

-- name: tool_findings.state
SELECT state FROM tool_findings WHERE id = ?1

-- name: tool_findings.count
SELECT count(*) AS findings FROM tool_findings WHERE state = 'open'

-- name: tool_outcomes.add
INSERT INTO tool_outcomes (activity_id, run, slot, passed, failed) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (activity_id, run, slot) DO UPDATE SET passed = tool_outcomes.passed + excluded.passed,
    failed = tool_outcomes.failed + excluded.failed

-- name: tool_outcomes.of_run
SELECT passed, failed FROM tool_outcomes WHERE activity_id = ?1 AND run = ?2
