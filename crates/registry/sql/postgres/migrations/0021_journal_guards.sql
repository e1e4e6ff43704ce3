-- TRUNCATE fires no trigger of a row.
CREATE TRIGGER journal_is_not_truncated BEFORE TRUNCATE ON journal
FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();
CREATE FUNCTION actors_are_fixed() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'an actor is never changed or removed'; END $$;
CREATE TRIGGER actors_are_fixed BEFORE UPDATE OR DELETE ON actors FOR EACH ROW EXECUTE FUNCTION actors_are_fixed();
CREATE TRIGGER actors_are_not_truncated BEFORE TRUNCATE ON actors
FOR EACH STATEMENT EXECUTE FUNCTION actors_are_fixed();

ALTER TABLE events RENAME COLUMN expansion TO components;
