-- An actor keeps its name, and no line of the journal is replaced: INSERT OR REPLACE fires no trigger for the
-- row that it removes.
CREATE TRIGGER journal_is_not_replaced BEFORE INSERT ON journal WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'a line of the journal is never changed'); END;
CREATE TRIGGER actors_are_not_changed BEFORE UPDATE ON actors
BEGIN SELECT RAISE(ABORT, 'an actor is never changed'); END;
CREATE TRIGGER actors_are_not_removed BEFORE DELETE ON actors
BEGIN SELECT RAISE(ABORT, 'an actor is never removed'); END;

ALTER TABLE events RENAME COLUMN expansion TO components;
