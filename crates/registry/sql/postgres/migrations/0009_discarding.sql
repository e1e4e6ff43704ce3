-- A version that is discarded is `dropping` while its rows go, then `dropped`; it keeps its number until its bytes are gone
-- too, and `swept_at` says when they were. `owns_contents`: whether its contents lie under its identifier in the stores,
-- `vN/content/<version id>/...`. `record_head`: the first line of its record, as it was first written.
ALTER TABLE versions DROP CONSTRAINT versions_state_check;
ALTER TABLE versions ADD CONSTRAINT versions_state_check
    CHECK (state IN ('preparing', 'committing', 'published', 'dropping', 'dropped'));
ALTER TABLE versions ADD COLUMN owns_contents BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE versions ADD COLUMN record_head TEXT;
ALTER TABLE versions ADD COLUMN swept_at BIGINT;
-- What was being prepared is written again under its identifier; what was being committed goes on as it was.
UPDATE versions SET owns_contents = (state = 'preparing'), swept_at = CASE WHEN state = 'dropped' THEN created_at END;
DROP INDEX versions_by_number;
CREATE UNIQUE INDEX versions_by_number ON versions (object_id, generation, number) WHERE swept_at IS NULL;
CREATE INDEX versions_unswept ON versions (object_id) WHERE state IN ('dropping', 'dropped') AND swept_at IS NULL;
CREATE INDEX versions_by_sweep ON versions (swept_at) WHERE swept_at IS NOT NULL;

-- The version that brought a content and under whose identifier it lies; NULL where it lies directly in `vN/content/`.
ALTER TABLE contents ADD COLUMN version_id UUID;
DELETE FROM copies WHERE content_id IN (SELECT c.id FROM contents c JOIN versions v ON v.object_id = c.object_id
    AND v.generation = c.generation AND v.number = c.version WHERE v.state = 'preparing');
UPDATE contents c SET version_id = v.id FROM versions v WHERE v.object_id = c.object_id AND v.generation = c.generation
    AND v.number = c.version AND v.state = 'preparing';

-- Staged bytes lie under `<item>/<staging_id>/`. `is_discarded`: they are being removed, and are not used again.
ALTER TABLE reservations ADD COLUMN staging_id UUID;
ALTER TABLE reservations ADD COLUMN is_discarded BOOLEAN NOT NULL DEFAULT FALSE;
