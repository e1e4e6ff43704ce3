-- name: interim.files_after
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = ?1 AND path > ?2 ORDER BY path LIMIT ?3
-- name: interim.file
SELECT path, size, md5, sha1, sha256, sha512, modified, staging_key, staging_offset, decision, file_id,
    content_id, puid, mime, format_name, format_version, format_method, format_basis, format_signatures, format_warning,
    format_others
FROM interim_files WHERE item_id = ?1 AND path = ?2
-- name: interim.clear_files
DELETE FROM interim_files WHERE item_id = ?1 AND path IN
    (SELECT path FROM interim_files WHERE item_id = ?1 LIMIT ?2)
-- name: interim.clear_facts
DELETE FROM interim_facts WHERE item_id = ?1
-- name: interim.has_more_files
SELECT 1 AS found FROM interim_files WHERE item_id = ?1 LIMIT 1 OFFSET ?2
-- name: interim.facts
SELECT name, value FROM interim_facts WHERE item_id = ?1
-- name: interim.fact
SELECT value FROM interim_facts WHERE item_id = ?1 AND name = ?2
-- name: space.reserve
INSERT INTO reservations (item_id, bytes, created_at, staging_id) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (item_id) DO UPDATE SET bytes = ?2
-- name: space.of_item
SELECT staging_id, is_discarded FROM reservations WHERE item_id = ?1
-- name: space.release
DELETE FROM reservations WHERE item_id = ?1
