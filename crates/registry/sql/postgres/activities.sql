-- Activities and pipelines that people name, within a scope.

-- name: activities.get
SELECT {activities.columns} FROM {activities.tables}
WHERE a.id = $1 AND ($2::uuid IS NULL OR a.institution_id = $2)

-- name: activities.list
SELECT {activities.columns} FROM {activities.tables}
WHERE a.id > $1 AND ($2::uuid IS NULL OR a.institution_id = $2) AND ($3::text IS NULL OR a.state = $3)
    AND ($4::text IS NULL OR a.agent = $4)
ORDER BY a.id LIMIT $5

-- name: activities.newest
SELECT {activities.columns} FROM {activities.tables}
WHERE a.id < $1 AND ($2::uuid IS NULL OR a.institution_id = $2) AND ($3::text IS NULL OR a.state = $3)
    AND ($4::text IS NULL OR a.agent = $4)
ORDER BY a.id DESC LIMIT $5

-- name: pipelines.by_name
SELECT id, institution_id, name, steps, runs, made_at, changed_at FROM pipelines
WHERE name = $2 AND ($1::uuid IS NOT NULL AND institution_id = $1 OR $1::uuid IS NULL AND institution_id IS NULL)

-- name: pipelines.list
SELECT id, institution_id, name, steps, runs, made_at, changed_at FROM pipelines
WHERE id > $1 AND ($2::uuid IS NULL OR institution_id = $2)
ORDER BY id LIMIT $3
