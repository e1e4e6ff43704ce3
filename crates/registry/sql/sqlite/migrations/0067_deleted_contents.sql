-- What was deleted of an object is found by its digest.
DROP INDEX deleted_contents_by_object;
CREATE INDEX deleted_contents_by_sha512 ON deleted_contents (object_id, generation, sha512);
