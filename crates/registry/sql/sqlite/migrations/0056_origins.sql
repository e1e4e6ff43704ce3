-- Which part of what is at its source a document is of; empty where it is the whole of it.
ALTER TABLE documents ADD COLUMN part TEXT NOT NULL DEFAULT '';
-- What a version was harvested from: the location of the source and the part of it; NULL where it was not harvested. The part is NULL where
-- the version was made before parts were told apart.
ALTER TABLE versions ADD COLUMN harvested_from TEXT;
ALTER TABLE versions ADD COLUMN harvested_part TEXT;
-- Until now the message of a version said it: that of a harvested one begins with 'harvested from '. Where the work item is not known, as after
-- a rebuild, the message alone says it.
UPDATE versions SET harvested_from = substr(message, 16)
WHERE substr(message, 1, 15) = 'harvested from ' AND length(message) > 15
    AND NOT EXISTS (SELECT 1 FROM work_items w WHERE w.id = versions.item_id AND coalesce(w.source, '') NOT LIKE 'document:%');
