-- name: levels.objects
SELECT o.id, o.placement, (o.head > 0 AND o.state = 'active') AS is_kept,
    (coalesce(o.title, '') <> '' OR coalesce(o.description, '') <> '') AS is_described
FROM objects o WHERE o.id > ?1 ORDER BY o.id LIMIT ?2
-- Files as they came into versions. What Strongroom adds to an object itself is not kept in this sense.
-- name: levels.files
SELECT e.object_id, e.generation, e.version, e.file_id,
    (e.content_id IS NOT NULL AND o.generation = e.generation AND e.version <= o.head
        AND (f.path < 'metadata/' OR f.path >= 'metadata0')) AS is_kept,
    e.puid, e.format_method, e.format_warning,
    EXISTS (SELECT 1 FROM events v WHERE v.file_id = e.file_id AND v.type = 'ingestion' AND v.content_id = e.content_id)
        AS is_recorded,
    EXISTS (SELECT 1 FROM events v WHERE v.file_id = e.file_id AND v.type = 'virus check' AND v.outcome = 'success'
        AND v.content_id = e.content_id) AS is_virus_checked
FROM entries e JOIN objects o ON o.id = e.object_id JOIN files f ON f.id = e.file_id
WHERE (e.object_id, e.generation, e.version, e.file_id) > (?1, ?2, ?3, ?4)
ORDER BY e.object_id, e.generation, e.version, e.file_id LIMIT ?5
-- Copies of published contents that were never compared with their digest, among the first that were not.
-- name: levels.unverified
SELECT count(*) AS examined,
    count(CASE WHEN k.last_fixity_at IS NULL AND c.version <= o.head AND c.generation = o.generation THEN 1 END) AS unverified
FROM (SELECT content_id, object_id, last_fixity_at FROM copies WHERE verified_at IS NULL LIMIT ?1) AS k
JOIN contents c ON c.id = k.content_id JOIN objects o ON o.id = k.object_id
-- name: levels.oldest_object_check
SELECT min(k.checked_at) AS oldest_checked_at FROM object_copies k WHERE k.store = ?1
-- name: levels.users
SELECT role, count(*) AS users FROM users WHERE state = 'active' GROUP BY role ORDER BY role
-- Institutions of which fewer than two active users are admins: a deletion needs a second one.
-- name: levels.without_second_admin
SELECT count(*) AS institutions FROM institutions i WHERE i.state = 'active' AND 2 > (SELECT count(*) FROM users u
    WHERE u.state = 'active' AND (u.role = 'system_admin' OR (u.role = 'institution_admin' AND u.institution_id = i.id)))
