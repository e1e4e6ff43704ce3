-- Rows for the measurement in main.rs: those that are numbered from the first parameter to the second. Identifiers are the
-- number behind a digit for their table, so that they come in the order of their making, as those of the program do.
-- name: scale.batches
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO batches (id, institution_id, type, state, submitted_by, created_at, updated_at)
SELECT unhex('1' || printf('%031x', n)), unhex('0' || printf('%031x', n % 5 + 1)), 'bag', 'completed', 'example',
    1700000000000000 + n, 1700000000000000 + n
FROM numbers
-- name: scale.objects
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO objects (id, institution_id, identifier, generation, state, placement, head, files, bytes, created_at,
    updated_at)
SELECT unhex('2' || printf('%031x', n)), unhex('0' || printf('%031x', n % 5 + 1)), 'example.edu/object-' || n,
    unhex('2' || printf('%031x', n)), 'active', 'standard', 1, 100, 100000, 1700000000000000 + n, 1700000000000000 + n
FROM numbers
-- name: scale.object_copies
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO object_copies (object_id, store, institution_id, generation, state, checked_at)
SELECT unhex('2' || printf('%031x', n)), 'primary', unhex('0' || printf('%031x', n % 5 + 1)), unhex('2' || printf('%031x', n)), 'kept',
    1700000000000000 + n
FROM numbers
-- name: scale.files
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO files (id, object_id, path, created_at)
SELECT unhex('3' || printf('%031x', n)), unhex('2' || printf('%031x', (n - 1) / 100 + 1)),
    'deposit/data/' || (100000 + n % 100), 1700000000000000 + n
FROM numbers
-- name: scale.contents
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, created_at)
SELECT unhex('4' || printf('%031x', n)), unhex('2' || printf('%031x', (n - 1) / 100 + 1)),
    unhex('2' || printf('%031x', (n - 1) / 100 + 1)), unhex(printf('%0128x', n)), 1000, unhex(printf('%032x', n)),
    unhex(printf('%040x', n)), unhex(printf('%064x', n)), 1, 1700000000000000 + n
FROM numbers
-- name: scale.entries
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO entries (object_id, file_id, generation, version, content_id)
SELECT unhex('2' || printf('%031x', (n - 1) / 100 + 1)), unhex('3' || printf('%031x', n)),
    unhex('2' || printf('%031x', (n - 1) / 100 + 1)), 1, unhex('4' || printf('%031x', n))
FROM numbers
-- name: scale.copies
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO copies (content_id, store, institution_id, object_id, key, state, stored_at, verified_at, checked_at)
SELECT unhex('4' || printf('%031x', n)), 'primary', unhex('0' || printf('%031x', n % 5 + 1)),
    unhex('2' || printf('%031x', (n - 1) / 100 + 1)), 'example.edu/a1b/c2d/v1/content/00/' || printf('%0128x', n),
    'kept', 1700000000000000 + n, 1700000000000000 + n, 1700000000000000 + n
FROM numbers
-- name: scale.events
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO events (id, institution_id, object_id, file_id, content_id, version, type, components, time, outcome,
    detail, agent)
SELECT unhex('5' || printf('%031x', n)), unhex('0' || printf('%031x', n % 5 + 1)), unhex('2' || printf('%031x',
    (n - 1) / 100 + 1)), unhex('3' || printf('%031x', n)), unhex('4' || printf('%031x', n)), 1, 'ingestion',
    NULL, 1700000000000000 + n, 'success', 'deposit', 'strongroom'
FROM numbers
-- name: scale.items
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO work_items (id, batch_id, institution_id, action, object_identifier, name, source, size, stage, status,
    note, created_at, updated_at, topic, number)
SELECT unhex('6' || printf('%031x', n)), unhex('1' || printf('%031x', (n - 1) / 1000 + 1)),
    unhex('0' || printf('%031x', n % 5 + 1)), 'ingest', 'example.edu/object-' || n, 'object-' || n || '.tar',
    '/deposits/object-' || n || '.tar', 100000,
    CASE WHEN n % 10 = 0 THEN 'receive' ELSE 'cleanup' END,
    CASE WHEN n % 10 = 0 THEN 'pending' WHEN n % 100 = 1 THEN 'failed' ELSE 'succeeded' END, 'a note',
    1700000000000000 + n, 1700000000000000 + n, CASE WHEN n % 10 = 0 THEN 'ingest.receive' ELSE 'ingest.cleanup' END,
    n
FROM numbers
-- name: scale.tasks
WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
INSERT INTO task (id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload,
    item_id)
SELECT n, 'ingest.receive', '60000000-0000-0000-0000-' || printf('%012x', n), 0, 50,
    '00000000-0000-0000-0000-' || printf('%012x', n % 5 + 1), n, 1700000000000000 + n, 4294967295,
    1700000000000000 + n, x'', unhex('6' || printf('%031x', n))
FROM numbers WHERE n % 10 = 0
