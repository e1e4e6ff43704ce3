-- name: profiles.list
SELECT p.name AS profile, p.version, p.origin, p.source, p.identifier, p.stated_version, p.description,
    p.document IS NOT NULL AS has_document, p.sha256, p.sha512, p.added_at, p.removed_at, p.actor_id, {actors.columns}
FROM profiles p LEFT JOIN actors a ON a.id = p.actor_id ORDER BY p.name, p.version
-- name: profiles.of_name
SELECT p.name AS profile, p.version, p.origin, p.source, p.identifier, p.stated_version, p.description,
    p.document IS NOT NULL AS has_document, p.sha256, p.sha512, p.added_at, p.removed_at, p.actor_id, {actors.columns}
FROM profiles p LEFT JOIN actors a ON a.id = p.actor_id WHERE p.name = ?1 ORDER BY p.version
-- name: profiles.of_identifier
SELECT p.name AS profile, p.version FROM profiles p
WHERE p.identifier = ?1 AND p.removed_at IS NULL AND p.document IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM profiles n WHERE n.name = p.name AND n.version > p.version AND n.removed_at IS NULL
        AND n.document IS NOT NULL)
ORDER BY p.added_at DESC, p.name LIMIT 1
-- Those of this name come first.
-- name: profiles.of_digest
SELECT p.name AS profile, p.version, p.origin FROM profiles p WHERE p.sha512 = ?1 AND p.document IS NOT NULL
ORDER BY CASE WHEN p.name = ?2 THEN 0 ELSE 1 END, p.name, p.version LIMIT 1
-- name: profiles.document
SELECT document FROM profiles WHERE name = ?1 AND version = ?2
-- name: profiles.insert
INSERT INTO profiles (name, version, origin, source, identifier, stated_version, description, document, sha256, sha512,
    actor_id, added_at, removed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
-- name: profiles.fill
UPDATE profiles SET origin = ?3, source = ?4, identifier = ?5, stated_version = ?6, description = ?7, document = ?8,
    sha256 = ?9, sha512 = ?10, actor_id = ?11, added_at = ?12, removed_at = ?13
WHERE name = ?1 AND version = ?2 AND document IS NULL
-- name: profiles.note
INSERT INTO profiles (name, version, origin, source, sha512, added_at) VALUES (?1, ?2, 'stores', '', ?3, ?4)
ON CONFLICT DO NOTHING
-- name: profiles.set_removed
UPDATE profiles SET removed_at = ?3 WHERE name = ?1 AND version = ?2
-- name: profiles.collections
SELECT i.identifier AS institution_identifier, c.identifier, r.profile_version
FROM {collections.tables}
WHERE r.profile = ?1 AND c.state = 'active' ORDER BY i.identifier, c.identifier
