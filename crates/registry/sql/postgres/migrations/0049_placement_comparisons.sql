-- Which objects the stores of their placement may not hold whole. What `objects_to_compare` does not name, each store of a row of
-- `placement_comparisons` holds whole, as far as that has come. Every transaction by which an object may come to lack something marks it.
CREATE TABLE objects_to_compare (
    object_id UUID PRIMARY KEY,
    -- How often it was marked: each mark changes the row, so that none is lost beside a transaction that removes it.
    marks     BIGINT NOT NULL
);

-- A store of a placement, and how far the objects of the placement were compared with it.
CREATE TABLE placement_comparisons (
    placement   TEXT NOT NULL,
    store       TEXT NOT NULL,
    -- Objects up to this one, in the order of their identifiers.
    compared_to UUID NOT NULL,
    -- All of them: from then on only those that are marked.
    is_complete BOOLEAN NOT NULL,
    PRIMARY KEY (placement, store)
);

CREATE FUNCTION object_is_to_be_compared() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    INSERT INTO objects_to_compare (object_id, marks) VALUES (NEW.id, 1)
    ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1;
    RETURN NULL;
END $$;
CREATE FUNCTION object_of_copy_is_to_be_compared() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    INSERT INTO objects_to_compare (object_id, marks) VALUES (OLD.object_id, 1)
    ON CONFLICT (object_id) DO UPDATE SET marks = objects_to_compare.marks + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER objects_are_to_be_compared AFTER UPDATE OF head, generation, placement ON objects
FOR EACH ROW EXECUTE FUNCTION object_is_to_be_compared();
CREATE TRIGGER copies_are_to_be_compared AFTER DELETE ON copies
FOR EACH ROW EXECUTE FUNCTION object_of_copy_is_to_be_compared();
CREATE TRIGGER object_copies_are_to_be_compared AFTER DELETE ON object_copies
FOR EACH ROW EXECUTE FUNCTION object_of_copy_is_to_be_compared();
