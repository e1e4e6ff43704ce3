-- name: backfill.count_lacking
SELECT count(*) AS objects FROM objects o
WHERE o.head > 0 AND lower(o.placement) = lower(?1)
    AND (
        NOT EXISTS (
            SELECT 1 FROM object_copies k WHERE k.object_id = o.id AND k.store = ?2 AND k.generation = o.generation
        )
        OR EXISTS (
            SELECT 1 FROM contents c
            WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
                AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?2)
        )
    )
-- name: backfill.amount_lacking
SELECT count(*) AS objects, CAST(coalesce(sum((
    SELECT coalesce(sum(c.size), 0) FROM contents c
    WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
        AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?2)
)), 0) AS BIGINT) AS bytes
FROM objects o
WHERE o.head > 0 AND lower(o.placement) = lower(?1)
    AND (
        NOT EXISTS (
            SELECT 1 FROM object_copies k WHERE k.object_id = o.id AND k.store = ?2 AND k.generation = o.generation
        )
        OR EXISTS (
            SELECT 1 FROM contents c
            WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
                AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?2)
        )
    )
-- name: backfill.unverified_objects
SELECT o.id, i.identifier AS institution_identifier, o.identifier AS object_identifier, o.generation, (
    SELECT count(*) FROM contents c
    WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
        AND NOT EXISTS (
            SELECT 1 FROM copies k
            WHERE k.content_id = c.id AND k.store = ?3 AND k.state = 'kept'
                AND (k.verified_at IS NOT NULL OR k.last_fixity_at IS NOT NULL)
        )
) AS lacking_contents, EXISTS (
    SELECT 1 FROM object_copies k
    WHERE k.object_id = o.id AND k.store = ?3 AND k.generation = o.generation AND k.state = 'kept'
        AND k.last_fixity_at IS NOT NULL
) AS has_inventories
FROM objects o JOIN institutions i ON i.id = o.institution_id
WHERE o.id > ?1 AND o.head > 0 AND coalesce(lower(o.placement), '') = lower(?2)
    AND EXISTS (SELECT 1 FROM object_copies h WHERE h.object_id = o.id AND h.store = ?4)
    AND (
        NOT EXISTS (
            SELECT 1 FROM object_copies k
            WHERE k.object_id = o.id AND k.store = ?3 AND k.generation = o.generation AND k.state = 'kept'
                AND k.last_fixity_at IS NOT NULL
        )
        OR EXISTS (
            SELECT 1 FROM contents c
            WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
                AND NOT EXISTS (
                    SELECT 1 FROM copies k
                    WHERE k.content_id = c.id AND k.store = ?3 AND k.state = 'kept'
                        AND (k.verified_at IS NOT NULL OR k.last_fixity_at IS NOT NULL)
                )
        )
    )
ORDER BY o.id LIMIT ?5
-- name: backfill.holds_objects
SELECT 1 AS found FROM object_copies k JOIN objects o ON o.id = k.object_id AND o.head > 0 WHERE k.store = ?1 LIMIT 1
-- name: backfill.doubt_copy
UPDATE copies SET verified_at = NULL, last_fixity_at = NULL, checked_at = 0 WHERE store = ?1 AND content_id = ?2
-- name: backfill.doubt_object_copy
UPDATE object_copies SET last_fixity_at = NULL, checked_at = 0 WHERE store = ?1 AND object_id = ?2
-- name: backfill.placements_in_store
SELECT DISTINCT coalesce(lower(o.placement), '') AS placement FROM object_copies k JOIN objects o ON o.id = k.object_id
WHERE k.store = ?1 AND o.head > 0 ORDER BY 1
-- name: backfill.lacking_contents
SELECT c.id, c.sha512, c.sha256, c.size FROM contents c
JOIN objects o ON o.id = c.object_id AND o.generation = c.generation AND o.head >= c.version
WHERE c.object_id = ?1 AND c.sha512 > ?2
    AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = ?3)
ORDER BY c.sha512 LIMIT ?4
-- name: backfill.insert_copy
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, state, stored_at, verified_at,
    last_fixity_at, checked_at, attested_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'kept', ?7, ?7, ?8, ?7, ?9)
ON CONFLICT DO NOTHING
-- name: backfill.insert_unread_copy
INSERT INTO copies (content_id, store, institution_id, object_id, key, class, state, stored_at, checked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'kept', ?7, 0)
ON CONFLICT DO NOTHING
-- name: backfill.insert_object_copy
INSERT INTO object_copies (object_id, store, institution_id, generation, state, checked_at, last_fixity_at)
VALUES (?1, ?2, ?3, ?4, 'kept', ?5, ?5)
ON CONFLICT (object_id, store) DO UPDATE SET generation = ?4, state = 'kept', checked_at = ?5, last_fixity_at = ?5
WHERE object_copies.generation < ?4
-- name: stores.retired
SELECT name FROM registry_facts WHERE name >= 'store.retired/' AND name < 'store.retired0'
-- name: stores.retired_and_found_wrong
SELECT name FROM registry_facts WHERE name >= 'store.retired/' AND name < 'store.retired0'
UNION ALL
SELECT store AS name FROM findings WHERE object_id = ?1 AND content_id IS NULL AND state <> 'repaired'
