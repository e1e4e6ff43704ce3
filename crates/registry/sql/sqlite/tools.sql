-- What tools have found, within a scope.

-- name: tool_findings.get
SELECT {tool_findings.columns} FROM {tool_findings.tables}
WHERE t.id = ?1 AND (?2 IS NULL OR t.institution_id = ?2)

-- name: tool_findings.list
SELECT {tool_findings.columns} FROM {tool_findings.tables}
WHERE t.id > ?1 AND (?2 IS NULL OR t.institution_id = ?2) AND (?3 = 1 OR t.state = 'open')
ORDER BY t.id LIMIT ?4

-- name: tool_findings.of_activity
SELECT {tool_findings.columns} FROM {tool_findings.tables}
JOIN findings_of_activities a ON a.finding_id = t.id
WHERE a.activity_id = ?3 AND a.finding_id > ?1 AND (?2 IS NULL OR t.institution_id = ?2)
ORDER BY a.finding_id LIMIT ?4
