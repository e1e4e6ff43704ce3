-- name: health.unkept
SELECT count(*) AS contents FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3 AND NOT EXISTS (SELECT 1 FROM copies k
    WHERE k.content_id = c.id AND k.store = ?4 AND k.state = 'kept'
        AND (k.verified_at IS NOT NULL OR k.last_fixity_at IS NOT NULL))
-- name: health.object_copy
SELECT state FROM object_copies WHERE object_id = ?1 AND generation = ?2 AND store = ?3
-- name: health.unsolved_of_object
SELECT count(*) AS findings FROM findings f WHERE f.object_id = ?1 AND f.state <> 'repaired'
    AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store)
-- name: health.doubt_copy
UPDATE copies SET checked_at = 0 WHERE object_id = ?1 AND store = ?2 AND key = ?3
-- name: health.doubt_object
UPDATE object_copies SET checked_at = 0 WHERE object_id = ?1 AND store = ?2
-- name: health.absent
SELECT count(*) AS contents FROM contents c
WHERE c.object_id = ?1 AND c.generation = ?2 AND c.version <= ?3
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?4)
-- What lies in a store that is out of use does not count.
-- name: health.wrong
SELECT EXISTS (SELECT 1 FROM findings f WHERE f.object_id = ?1 AND f.state <> 'repaired' AND f.kind <> 'missing'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store))
        AS has_damage_findings,
    EXISTS (SELECT 1 FROM findings f WHERE f.object_id = ?1 AND f.state <> 'repaired' AND f.kind = 'missing'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store))
        AS has_missing_findings,
    EXISTS (SELECT 1 FROM object_copies k WHERE k.object_id = ?1 AND k.generation = ?2 AND k.state = 'damaged'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store))
        AS has_damaged_object_copies,
    EXISTS (SELECT 1 FROM object_copies k WHERE k.object_id = ?1 AND k.generation = ?2 AND k.state = 'missing'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store))
        AS has_missing_object_copies,
    EXISTS (SELECT 1 FROM copies k JOIN contents c ON c.id = k.content_id WHERE k.object_id = ?1 AND c.generation = ?2
        AND c.version <= ?3 AND k.state = 'damaged'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store))
        AS has_damaged_copies,
    EXISTS (SELECT 1 FROM copies k JOIN contents c ON c.id = k.content_id WHERE k.object_id = ?1 AND c.generation = ?2
        AND c.version <= ?3 AND k.state = 'missing'
        AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || k.store))
        AS has_missing_copies
-- name: health.open_by_store
SELECT f.store, f.kind, count(*) AS findings FROM findings f
WHERE f.state <> 'repaired' AND NOT EXISTS (SELECT 1 FROM registry_facts r WHERE r.name = 'store.retired/' || f.store)
GROUP BY f.store, f.kind ORDER BY f.store, f.kind
-- name: health.oldest_check
SELECT min(k.checked_at) AS oldest_checked_at FROM copies k WHERE k.store = ?1
-- name: health.notices
SELECT count(*) AS uploads, min(remove_after) AS first_remove_after FROM uploads
WHERE state = 'invalid' AND warned_at IS NOT NULL
-- name: health.uploads
SELECT state, count(*) AS uploads FROM uploads
WHERE state IN ('refused', 'published', 'failed', 'invalid', 'removing')
GROUP BY state ORDER BY state
