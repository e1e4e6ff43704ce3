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
SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS bytes,
    count(*) FILTER (WHERE path >= 'data/' AND path < 'data0') AS payload_files,
    count(*) FILTER (WHERE decision = 'new') AS new_files,
    count(*) FILTER (WHERE decision = 'changed') AS changed_files
FROM interim_files WHERE item_id = $1
-- name: space.discard
UPDATE reservations SET is_discarded = TRUE WHERE item_id = $1 RETURNING staging_id, is_discarded
-- name: interim.is_file
SELECT wanted.place, 1 AS found
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS wanted (item_id, path, place)
JOIN interim_files i ON i.item_id = wanted.item_id AND i.path = wanted.path
-- name: interim.set_fact
INSERT INTO interim_facts (item_id, name, value)
SELECT item_id, name, value FROM unnest($1::uuid[], $2::text[], $3::text[]) AS new (item_id, name, value)
ON CONFLICT (item_id, name) DO UPDATE SET value = excluded.value
