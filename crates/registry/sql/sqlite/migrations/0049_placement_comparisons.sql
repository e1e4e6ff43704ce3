-- Which objects the stores of their placement may not hold whole. What `objects_to_compare` does not name, each store of a row of
-- `placement_comparisons` holds whole, as far as that has come. Every transaction by which an object may come to lack something marks it.
CREATE TABLE objects_to_compare (
    object_id BLOB PRIMARY KEY,
    -- How often it was marked: each mark changes the row, so that none is lost beside a transaction that removes it.
    marks     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A store of a placement, and how far the objects of the placement were compared with it.
CREATE TABLE placement_comparisons (
    placement   TEXT NOT NULL,
    store       TEXT NOT NULL,
    -- Objects up to this one, in the order of their identifiers.
    compared_to BLOB NOT NULL,
    -- All of them: from then on only those that are marked.
    is_complete INTEGER NOT NULL,
    PRIMARY KEY (placement, store)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER objects_are_to_be_compared AFTER UPDATE OF head, generation, placement ON objects
BEGIN
    INSERT INTO objects_to_compare (object_id, marks) VALUES (NEW.id, 1)
    ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1;
END;
CREATE TRIGGER copies_are_to_be_compared AFTER DELETE ON copies
BEGIN
    INSERT INTO objects_to_compare (object_id, marks) VALUES (OLD.object_id, 1)
    ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1;
END;
CREATE TRIGGER object_copies_are_to_be_compared AFTER DELETE ON object_copies
BEGIN
    INSERT INTO objects_to_compare (object_id, marks) VALUES (OLD.object_id, 1)
    ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1;
END;
