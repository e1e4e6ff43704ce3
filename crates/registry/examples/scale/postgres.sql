-- Rows for the measurement in main.rs: those that are numbered from the first parameter to the second. Identifiers are the
-- number behind a digit for their table, so that they come in the order of their making, as those of the program do.
-- name: scale.batches
INSERT INTO batches (id, institution_id, type, state, submitted_by, created_at, updated_at)
SELECT ('1' || lpad(to_hex(n), 31, '0'))::uuid, ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid, 'bag', 'completed',
    'example', 1700000000000000 + n, 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.objects
INSERT INTO objects (id, institution_id, identifier, generation, state, placement, head, files, bytes, created_at,
    updated_at)
SELECT ('2' || lpad(to_hex(n), 31, '0'))::uuid, ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid,
    'example.edu/object-' || n, ('2' || lpad(to_hex(n), 31, '0'))::uuid, 'active', 'standard', 1, 100, 100000,
    1700000000000000 + n, 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.object_copies
INSERT INTO object_copies (object_id, store, institution_id, generation, state, checked_at)
SELECT ('2' || lpad(to_hex(n), 31, '0'))::uuid, 'primary', ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid,
    ('2' || lpad(to_hex(n), 31, '0'))::uuid, 'kept', 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.files
INSERT INTO files (id, object_id, path, created_at)
SELECT ('3' || lpad(to_hex(n), 31, '0'))::uuid, ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid,
    'deposit/data/' || (100000 + n % 100), 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.contents
INSERT INTO contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at)
SELECT ('4' || lpad(to_hex(n), 31, '0'))::uuid, ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid,
    ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid, decode(lpad(to_hex(n), 128, '0'), 'hex'), 1000,
    decode(lpad(to_hex(n), 32, '0'), 'hex'), decode(lpad(to_hex(n), 40, '0'), 'hex'), decode(lpad(to_hex(n), 64,
    '0'), 'hex'), 1, 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.entries
INSERT INTO entries (object_id, file_id, generation, version, content_id)
SELECT ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid, ('3' || lpad(to_hex(n), 31, '0'))::uuid,
    ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid, 1, ('4' || lpad(to_hex(n), 31, '0'))::uuid
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.copies
INSERT INTO copies (content_id, store, institution_id, object_id, key, state, stored_at, verified_at, checked_at)
SELECT ('4' || lpad(to_hex(n), 31, '0'))::uuid, 'primary', ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid,
    ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid, 'example.edu/a1b/c2d/v1/content/00/' || lpad(to_hex(n),
    128, '0'), 'kept', 1700000000000000 + n, 1700000000000000 + n, 1700000000000000 + n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.events
INSERT INTO events (id, institution_id, object_id, file_id, content_id, version, type, components, time, outcome,
    detail, agent)
SELECT ('5' || lpad(to_hex(n), 31, '0'))::uuid, ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid,
    ('2' || lpad(to_hex((n - 1) / 100 + 1), 31, '0'))::uuid, ('3' || lpad(to_hex(n), 31, '0'))::uuid,
    ('4' || lpad(to_hex(n), 31, '0'))::uuid, 1, 'ingestion', NULL, 1700000000000000 + n, 'success', 'deposit',
    'strongroom'
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.items
INSERT INTO work_items (id, batch_id, institution_id, action, object_identifier, name, source, size, stage, status,
    note, created_at, updated_at, topic, number)
SELECT ('6' || lpad(to_hex(n), 31, '0'))::uuid, ('1' || lpad(to_hex((n - 1) / 1000 + 1), 31, '0'))::uuid,
    ('0' || lpad(to_hex(n % 5 + 1), 31, '0'))::uuid, 'ingest', 'example.edu/object-' || n, 'object-' || n || '.tar',
    '/deposits/object-' || n || '.tar', 100000,
    CASE WHEN n % 10 = 0 THEN 'receive' ELSE 'cleanup' END,
    CASE WHEN n % 10 = 0 THEN 'pending' WHEN n % 100 = 1 THEN 'failed' ELSE 'succeeded' END, 'a note',
    1700000000000000 + n, 1700000000000000 + n, CASE WHEN n % 10 = 0 THEN 'ingest.receive' ELSE 'ingest.cleanup' END,
    n
FROM generate_series($1::bigint, $2::bigint) AS n
-- name: scale.tasks
INSERT INTO task (id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload,
    item_id)
SELECT n, 'ingest.receive', ('6' || lpad(to_hex(n), 31, '0'))::uuid::text, 0, 50, ('0' || lpad(to_hex(n % 5 + 1),
    31, '0'))::uuid::text, n, 1700000000000000 + n, 4294967295, 1700000000000000 + n, ''::bytea,
    ('6' || lpad(to_hex(n), 31, '0'))::uuid
FROM generate_series($1::bigint, $2::bigint) AS n WHERE n % 10 = 0
