-- name: backfill.lacking_objects
SELECT o.id, i.identifier AS institution_identifier, o.identifier AS object_identifier, o.generation, (
    SELECT count(*) FROM contents c
    WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
        AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = $3)
) AS lacking_contents, EXISTS (
    SELECT 1 FROM object_copies k WHERE k.object_id = o.id AND k.store = $3 AND k.generation = o.generation
) AS has_inventories
FROM objects o JOIN institutions i ON i.id = o.institution_id
WHERE o.id > $1 AND o.head > 0 AND lower(o.placement) = lower($2) AND ($4::uuid IS NULL OR o.institution_id = $4)
    AND (
        NOT EXISTS (
            SELECT 1 FROM object_copies k WHERE k.object_id = o.id AND k.store = $3 AND k.generation = o.generation
        )
        OR EXISTS (
            SELECT 1 FROM contents c
            WHERE c.object_id = o.id AND c.generation = o.generation AND c.version <= o.head
                AND NOT EXISTS (SELECT 1 FROM copies k WHERE k.content_id = c.id AND k.store = $3)
        )
    )
ORDER BY o.id LIMIT $5
