-- The acts that the mark in a store was seen to tell. A store whose mark tells fewer came back with older content.
ALTER TABLE stores ADD COLUMN marked_acts BIGINT NOT NULL DEFAULT 0;
