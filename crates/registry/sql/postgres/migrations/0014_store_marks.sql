-- How often the mark in the store was written when it was last seen. A mark that was written less often is of older content.
ALTER TABLE stores ADD COLUMN mark_revision BIGINT NOT NULL DEFAULT 0;

-- The files that any store misses of an object.
CREATE INDEX missed_logs_of_object ON missed_logs (object_id, name, store);
