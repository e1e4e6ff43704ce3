-- name: interim.file_put
INSERT INTO interim_files (item_id, path, size, md5, sha1, sha256, sha512, modified, staging_key,
    staging_offset, puid, mime, format_name, format_version, format_method, format_basis, format_signatures,
    format_warning, format_others)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
ON CONFLICT (item_id, path) DO UPDATE SET size = ?3, md5 = ?4, sha1 = ?5, sha256 = ?6, sha512 = ?7, modified = ?8,
    staging_key = ?9, staging_offset = ?10, puid = ?11, mime = ?12, format_name = ?13, format_version = ?14,
    format_method = ?15, format_basis = ?16, format_signatures = ?17, format_warning = ?18, format_others = ?19,
    decision = NULL, file_id = NULL, content_id = NULL
-- name: interim.set_format
UPDATE interim_files SET puid = ?3, mime = ?4, format_name = ?5, format_version = ?6, format_method = ?7,
    format_basis = ?8, format_signatures = ?9, format_warning = ?10, format_others = ?11
WHERE item_id = ?1 AND path = ?2
-- name: interim.set_decision
UPDATE interim_files SET decision = ?3, file_id = ?4, content_id = ?5 WHERE item_id = ?1 AND path = ?2
-- name: interim.totals
SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes,
    coalesce(sum(path >= 'data/' AND path < 'data0'), 0) AS payload_files,
    coalesce(sum(decision = 'new'), 0) AS new_files, coalesce(sum(decision = 'changed'), 0) AS changed_files
FROM interim_files WHERE item_id = ?1
-- name: space.discard
UPDATE reservations SET is_discarded = 1 WHERE item_id = ?1 RETURNING staging_id, is_discarded
-- name: interim.is_file
SELECT 1 AS found FROM interim_files WHERE item_id = ?1 AND path = ?2
-- name: interim.set_fact
INSERT INTO interim_facts (item_id, name, value) VALUES (?1, ?2, ?3)
ON CONFLICT (item_id, name) DO UPDATE SET value = ?3
