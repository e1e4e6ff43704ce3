-- A format belongs to what a path holds and not to the bytes alone: the same bytes under another name can be another format.

ALTER TABLE entries ADD COLUMN puid TEXT;
ALTER TABLE entries ADD COLUMN mime TEXT;
ALTER TABLE entries ADD COLUMN format_name TEXT;
ALTER TABLE entries ADD COLUMN format_version TEXT;
ALTER TABLE entries ADD COLUMN format_method TEXT;
ALTER TABLE entries ADD COLUMN format_basis TEXT;
-- The signature files it was identified with; NULL where nobody has tried.
ALTER TABLE entries ADD COLUMN format_signatures TEXT;
ALTER TABLE entries ADD COLUMN format_warning TEXT;
-- PRONOM identifiers of all other formats that match, separated by a space.
ALTER TABLE entries ADD COLUMN format_others TEXT;

UPDATE entries SET (puid, mime, format_name, format_version, format_method, format_basis) =
    (SELECT c.puid, c.mime, c.format_name, c.format_version, c.format_method, c.format_basis
     FROM contents c WHERE c.id = entries.content_id)
WHERE content_id IS NOT NULL;

ALTER TABLE contents DROP COLUMN puid;
ALTER TABLE contents DROP COLUMN mime;
ALTER TABLE contents DROP COLUMN format_name;
ALTER TABLE contents DROP COLUMN format_version;
ALTER TABLE contents DROP COLUMN format_method;
ALTER TABLE contents DROP COLUMN format_basis;

ALTER TABLE interim_files ADD COLUMN format_signatures TEXT;
ALTER TABLE interim_files ADD COLUMN format_warning TEXT;
ALTER TABLE interim_files ADD COLUMN format_others TEXT;
