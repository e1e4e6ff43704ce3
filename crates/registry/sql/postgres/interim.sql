-- name: interim.file_put
INSERT INTO interim_files (item_id, path, size, md5, sha1, sha256, sha512, modified, staging_key,
    staging_offset, puid, mime, format_name, format_version, format_method, format_basis, format_signatures,
    format_warning, format_others)
SELECT DISTINCT ON (item_id, path) item_id, path, size, md5, sha1, sha256, sha512, modified, staging_key,
    staging_offset, puid, mime, format_name, format_version, format_method, format_basis, format_signatures,
    format_warning, format_others
FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
    $8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::text[], $17::text[], $18::text[], $19::text[]) WITH ORDINALITY AS new (item_id, path, size, md5, sha1,
    sha256, sha512, modified, staging_key, staging_offset, puid, mime, format_name, format_version,
    format_method, format_basis, format_signatures, format_warning, format_others, place)
ORDER BY item_id, path, place DESC
ON CONFLICT (item_id, path) DO UPDATE SET size = excluded.size, md5 = excluded.md5, sha1 = excluded.sha1, sha256
    = excluded.sha256, sha512 = excluded.sha512, modified = excluded.modified, staging_key =
    excluded.staging_key, staging_offset = excluded.staging_offset, puid = excluded.puid, mime = excluded.mime,
    format_name = excluded.format_name, format_version = excluded.format_version, format_method =
    excluded.format_method, format_basis = excluded.format_basis, format_signatures =
    excluded.format_signatures, format_warning = excluded.format_warning, format_others =
    excluded.format_others, decision = NULL, file_id = NULL, content_id = NULL
-- name: interim.files_after
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = $1 AND path > $2 ORDER BY path LIMIT $3
-- name: interim.file
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = $1 AND path = $2
-- name: interim.set_format
UPDATE interim_files SET puid = found.puid, mime = found.mime, format_name = found.format_name, format_version =
    found.format_version, format_method = found.format_method, format_basis = found.format_basis,
    format_signatures = found.format_signatures, format_warning = found.format_warning, format_others =
    found.format_others
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[]) AS found (item_id, path, puid, mime, format_name, format_version,
    format_method, format_basis, format_signatures, format_warning, format_others)
WHERE interim_files.item_id = found.item_id AND interim_files.path = found.path
-- name: interim.set_decision
UPDATE interim_files SET decision = made.decision, file_id = made.file_id, content_id = made.content_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::uuid[])
    AS made (item_id, path, decision, file_id, content_id)
WHERE interim_files.item_id = made.item_id AND interim_files.path = made.path
-- name: interim.totals
SELECT count(*), coalesce(sum(size), 0)::bigint, count(*) FILTER (WHERE path >= 'data/' AND path < 'data0'),
    count(*) FILTER (WHERE decision = 'new'), count(*) FILTER (WHERE decision = 'changed')
FROM interim_files WHERE item_id = $1
-- name: interim.clear_files
DELETE FROM interim_files WHERE item_id = $1 AND path IN
    (SELECT path FROM interim_files WHERE item_id = $1 LIMIT $2)
-- name: interim.clear_facts
DELETE FROM interim_facts WHERE item_id = $1
-- name: interim.set_fact
INSERT INTO interim_facts (item_id, name, value) VALUES ($1, $2, $3)
ON CONFLICT (item_id, name) DO UPDATE SET value = $3
-- name: interim.fact
SELECT value FROM interim_facts WHERE item_id = $1 AND name = $2
-- name: space.reserve
INSERT INTO reservations (item_id, bytes, created_at, staging_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (item_id) DO UPDATE SET bytes = $2
-- name: space.reserved
SELECT coalesce(sum(bytes), 0)::bigint FROM reservations WHERE item_id <> $1
-- name: space.of_item
SELECT staging_id, is_discarded FROM reservations WHERE item_id = $1
-- name: space.discard
UPDATE reservations SET is_discarded = TRUE WHERE item_id = $1
-- name: space.release
DELETE FROM reservations WHERE item_id = $1
-- name: space.waiting
SELECT id FROM work_items WHERE status = 'pending' AND stage = 'provision' ORDER BY priority, id LIMIT 100
-- name: outbox.insert
INSERT INTO outbox (id, institution_id, item_id, key, kind, payload, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (key) DO NOTHING
