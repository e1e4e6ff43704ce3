-- What was deleted of an object is found by its digest.
DROP INDEX deleted_contents_by_object;
CREATE INDEX deleted_contents_by_sha512 ON deleted_contents (object_id, generation, sha512);
-- Whether a deletion of all of an object has left its record and its tombstone in the store; none where that is not known, as of those before this.
ALTER TABLE deletion_stores ADD COLUMN is_left BOOLEAN;
