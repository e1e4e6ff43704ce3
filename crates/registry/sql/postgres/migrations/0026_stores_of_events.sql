-- The store that an event is about, for an act on one copy or on what lies beside the copies. Events that were recorded before
-- name it in their texts only.
ALTER TABLE events ADD COLUMN store TEXT;
