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
SELECT {pipelines.columns} FROM pipelines
WHERE name = $2 AND ($1::uuid IS NOT NULL AND institution_id = $1 OR $1::uuid IS NULL AND institution_id IS NULL)

-- name: pipelines.named
SELECT {pipelines.columns} FROM pipelines
WHERE name = $1 AND ($2::uuid IS NULL OR institution_id = $2) AND steps <> '[]'
ORDER BY id LIMIT $3

-- name: pipelines.list
SELECT {pipelines.columns} FROM pipelines
WHERE id > $1 AND ($2::uuid IS NULL OR institution_id = $2) AND steps <> '[]'
ORDER BY id LIMIT $3
