-- What tools have found, within a scope.

-- name: tool_findings.get
SELECT {tool_findings.columns} FROM {tool_findings.tables}
WHERE t.id = $1 AND ($2::uuid IS NULL OR t.institution_id = $2)

-- name: tool_findings.list
SELECT {tool_findings.columns} FROM {tool_findings.tables}
WHERE t.id > $1 AND ($2::uuid IS NULL OR t.institution_id = $2) AND ($3 = true OR t.state = 'open')
    AND ($4::uuid IS NULL OR t.activity_id = $4)
ORDER BY t.id LIMIT $5
