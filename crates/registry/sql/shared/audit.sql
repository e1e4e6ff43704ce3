-- Lines of the journal that are in no chain yet.
-- name: audit.lines
SELECT j.id, j.number, j.time, j.actor_id, {actors.columns}, j.request_id, j.act, j.target, j.institution_id,
    i.identifier AS institution_identifier, j.outcome, j.detail, j.object,
    (SELECT min(k.sequence) FROM audit_entries k WHERE k.source = 'journal' AND k.id = p.id) AS known_at
FROM audit_pending p JOIN journal j ON j.id = p.id JOIN actors a ON a.id = j.actor_id LEFT JOIN institutions i ON i.id = j.institution_id
WHERE p.source = 'journal' ORDER BY p.id LIMIT ?1
-- Events that are in no chain yet.
-- name: audit.events
SELECT e.id, e.institution_id, e.object_id, e.file_id, e.content_id, e.item_id, e.version, e.type, e.components, e.time,
    e.outcome, e.detail, e.outcome_detail, e.store, e.agent, e.actor_id, {actors.columns}, i.identifier AS institution_identifier,
    o.identifier AS object, f.path, coalesce(c.sha512, d.sha512) AS sha512,
    (SELECT min(k.sequence) FROM audit_entries k WHERE k.source = 'event' AND k.id = p.id) AS known_at
FROM audit_pending p JOIN events e ON e.id = p.id JOIN institutions i ON i.id = e.institution_id
LEFT JOIN objects o ON o.id = e.object_id LEFT JOIN files f ON f.id = e.file_id
LEFT JOIN contents c ON c.id = e.content_id LEFT JOIN deleted_contents d ON d.id = e.content_id
LEFT JOIN actors a ON a.id = e.actor_id
WHERE p.source = 'event' ORDER BY p.id LIMIT ?1
-- Published versions that are in no chain yet.
-- name: audit.versions
SELECT v.id, v.generation, v.number, v.item_id, v.user_name, v.inventory_sha512, v.files, v.bytes, v.created_at, v.published_at,
    o.institution_id, i.identifier AS institution_identifier, o.identifier AS object, w.actor_id, {actors.columns},
    EXISTS (SELECT 1 FROM events e WHERE e.object_id = v.object_id AND e.item_id = v.item_id AND e.version = v.number
        AND e.type = 'deletion') AS is_last,
    (SELECT min(k.sequence) FROM audit_entries k WHERE k.source = 'version' AND k.id = p.id) AS known_at
FROM audit_pending p JOIN versions v ON v.id = p.id JOIN objects o ON o.id = v.object_id JOIN institutions i ON i.id = o.institution_id
LEFT JOIN work_items w ON w.id = v.item_id LEFT JOIN actors a ON a.id = w.actor_id
WHERE p.source = 'version' ORDER BY p.id LIMIT ?1
-- name: audit.is_sealed
DELETE FROM audit_pending WHERE source = ?1 AND id = ?2
-- Acts of entries behind one. Those of which the registry has no row cannot be appended again.
-- name: audit.is_pending_again
INSERT INTO audit_pending (source, id) SELECT k.source, k.id FROM audit_entries k WHERE k.chain = ?1 AND k.sequence > ?2
    AND (EXISTS (SELECT 1 FROM journal j WHERE k.source = 'journal' AND j.id = k.id)
        OR EXISTS (SELECT 1 FROM events e WHERE k.source = 'event' AND e.id = k.id)
        OR EXISTS (SELECT 1 FROM versions v WHERE k.source = 'version' AND v.id = k.id AND v.state = 'published'))
ON CONFLICT DO NOTHING
-- name: audit.pending
SELECT count(*) AS pending FROM (SELECT 1 FROM audit_pending LIMIT ?1) AS counted
-- Acts of one institution that are in no chain yet.
-- name: audit.pending_of
SELECT count(*) AS pending FROM (
    SELECT 1 FROM audit_pending p JOIN journal j ON j.id = p.id WHERE p.source = 'journal' AND j.institution_id = ?2
    UNION ALL
    SELECT 1 FROM audit_pending p JOIN events e ON e.id = p.id WHERE p.source = 'event' AND e.institution_id = ?2
    UNION ALL
    SELECT 1 FROM audit_pending p JOIN versions v ON v.id = p.id JOIN objects o ON o.id = v.object_id
    WHERE p.source = 'version' AND o.institution_id = ?2
    LIMIT ?1) AS counted
-- name: audit.chains
SELECT c.name, c.institution_id, c.sequence, c.sha256, c.published, c.published_at, c.counts, c.signing_key
FROM audit_chains c ORDER BY c.name
-- name: audit.begin
INSERT INTO audit_chains (name, institution_id, sequence, sha256, published, published_at, counts) VALUES (?1, ?2, 0, ?3, 0, ?4, '{}')
ON CONFLICT DO NOTHING
-- name: audit.advance
UPDATE audit_chains SET sequence = ?4, sha256 = ?5, counts = ?6, signing_key = ?7, institution_id = coalesce(institution_id, ?8)
WHERE name = ?1 AND sequence = ?2 AND sha256 = ?3
-- name: audit.append
INSERT INTO audit_entries (chain, sequence, source, id, line) VALUES (?1, ?2, ?3, ?4, ?5)
-- name: audit.entries
SELECT sequence, line FROM audit_entries WHERE chain = ?1 AND sequence >= ?2 AND sequence <= ?3 AND line <> ''
ORDER BY sequence LIMIT ?4
-- name: audit.empty_entries
UPDATE audit_entries SET line = '' WHERE chain = ?1 AND sequence >= ?2 AND sequence <= ?3
-- name: audit.drop_entries
DELETE FROM audit_entries WHERE chain = ?1 AND sequence > ?2
-- name: audit.drop_ranges
DELETE FROM audit_ranges WHERE chain = ?1 AND last > ?2
-- name: audit.drop_copies
DELETE FROM audit_copies WHERE chain = ?1 AND last > ?2
-- name: audit.drop_keys
DELETE FROM audit_keys WHERE chain = ?1 AND sequence > ?2
-- How many entries of each source a chain has up to one.
-- name: audit.counts
SELECT source, count(*) AS entries FROM audit_entries WHERE chain = ?1 AND sequence <= ?2 GROUP BY source
-- name: audit.put_key
INSERT INTO audit_keys (chain, fingerprint, sequence) VALUES (?1, ?2, ?3)
ON CONFLICT (chain, fingerprint) DO UPDATE SET sequence = excluded.sequence WHERE excluded.fingerprint = 'none'
-- name: audit.keys
SELECT fingerprint, sequence FROM audit_keys WHERE chain = ?1 ORDER BY sequence
-- name: audit.publish
UPDATE audit_chains SET published = ?3, published_at = ?4 WHERE name = ?1 AND published = ?2 AND sequence >= ?3
    AND EXISTS (SELECT 1 FROM audit_entries e WHERE e.chain = ?1 AND e.sequence = ?3 AND e.line = ?5)
-- name: audit.put_range
INSERT INTO audit_ranges (chain, last, made_at, head, signature, public_key, moved_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING
-- name: audit.ranges
SELECT chain, last, made_at, head, signature, public_key, moved_at FROM audit_ranges WHERE chain = ?1 AND last > ?2 ORDER BY last LIMIT ?3
-- name: audit.uncopied
SELECT r.chain, r.last, r.made_at, r.head, r.signature, r.public_key, r.moved_at FROM audit_ranges r
WHERE (r.chain > ?2 OR (r.chain = ?2 AND r.last > ?3))
    AND NOT EXISTS (SELECT 1 FROM audit_copies k WHERE k.store = ?1 AND k.chain = r.chain AND k.last = r.last)
ORDER BY r.chain, r.last LIMIT ?4
-- Times of a clock that was ahead.
-- name: audit.recheck
UPDATE audit_copies SET checked_at = 0 WHERE store = ?1 AND checked_at > ?2
-- name: audit.unchecked
SELECT r.chain, r.last, r.made_at, r.head, r.signature, r.public_key, r.moved_at FROM audit_copies k
JOIN audit_ranges r ON r.chain = k.chain AND r.last = k.last
WHERE k.store = ?1 AND k.checked_at < ?2 ORDER BY k.checked_at LIMIT ?3
-- name: audit.copies
SELECT store, checked_at FROM audit_copies WHERE chain = ?1 AND last = ?2
-- name: audit.put_copy
INSERT INTO audit_copies (store, chain, last, checked_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (chain, last, store) DO UPDATE SET checked_at = excluded.checked_at
-- name: audit.drop_copy
DELETE FROM audit_copies WHERE store = ?1 AND chain = ?2 AND last = ?3
-- name: audit.forget_store
DELETE FROM audit_copies WHERE store = ?1
-- name: audit.movable
SELECT r.chain, r.last, r.made_at, r.head, r.signature, r.public_key, r.moved_at FROM audit_ranges r
WHERE r.moved_at IS NULL AND r.made_at < ?1 AND (r.chain > ?2 OR (r.chain = ?2 AND r.last > ?3)) ORDER BY r.chain, r.last LIMIT ?4
-- name: audit.move
UPDATE audit_ranges SET moved_at = ?3 WHERE chain = ?1 AND last = ?2 AND moved_at IS NULL
-- name: audit.lock
UPDATE audit_chains SET sequence = sequence WHERE name = ?1
-- name: audit.set_chain
INSERT INTO audit_chains (name, institution_id, sequence, sha256, published, published_at, counts, signing_key)
VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE SET institution_id = coalesce(audit_chains.institution_id, excluded.institution_id),
    sequence = excluded.sequence, sha256 = excluded.sha256, published = excluded.published,
    published_at = excluded.published_at, counts = excluded.counts, signing_key = excluded.signing_key
-- Ranges of which the rows of the entries are still to be added.
-- name: audit.lacking
SELECT chain, last, made_at, head, signature, public_key, moved_at FROM audit_ranges
WHERE acts_lacking = 1 AND (chain > ?1 OR (chain = ?1 AND last > ?2)) ORDER BY chain, last LIMIT ?3
-- name: audit.lacks_nothing
UPDATE audit_ranges SET acts_lacking = 0 WHERE chain = ?1 AND last = ?2
-- name: audit.add_act
INSERT INTO audit_entries (chain, sequence, source, id, line) VALUES (?1, ?2, ?3, ?4, '') ON CONFLICT DO NOTHING
-- name: audit.contradictions
SELECT chain, store, first, last, head, is_decided FROM audit_contradictions ORDER BY chain, store, last
-- name: audit.put_contradiction
INSERT INTO audit_contradictions (chain, store, first, last, head, found_at, is_decided) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (chain, store, last) DO UPDATE SET first = excluded.first, head = excluded.head, is_decided = excluded.is_decided
-- name: audit.drop_contradiction
DELETE FROM audit_contradictions WHERE chain = ?1 AND store = ?2 AND last = ?3
-- name: audit.drop_contradictions_of_store
DELETE FROM audit_contradictions WHERE store = ?1
-- The files of which a version brought the contents.
-- name: audit.files_of_version
SELECT e.file_id, f.path, c.md5, c.size, e.mime
FROM versions v JOIN entries e ON e.object_id = v.object_id AND e.generation = v.generation AND e.version = v.number
JOIN files f ON f.id = e.file_id JOIN contents c ON c.id = e.content_id
WHERE v.id = ?1 AND e.file_id > ?2 ORDER BY e.file_id LIMIT ?3
