-- name: stores.marked
UPDATE stores SET mark_revision = seen.revision
FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS seen (name, store_id, revision)
WHERE stores.name = seen.name AND stores.store_id = seen.store_id AND stores.replacing_id IS NULL
    AND stores.mark_revision < seen.revision
-- Waits for the ends of stages that note what stores have; see versions.lock_state.
-- name: stores.lock_replacements
SELECT 1 AS found
FROM (SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.stores.replacements', 0))) AS locked
