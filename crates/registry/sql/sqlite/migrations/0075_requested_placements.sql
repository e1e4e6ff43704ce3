-- Whether a deposit named the placement of the object: if not, the placement of its collection is that of the object, also after a change. NULL:
-- not recorded, as of all objects before this. Then it counts as that of the collection where earlier rules of the collection name it.
ALTER TABLE objects ADD COLUMN placement_requested INTEGER;
