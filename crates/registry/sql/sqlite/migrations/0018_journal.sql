-- Who acts. The identifier follows from kind and name, so that every process gives an actor the same one.
CREATE TABLE actors (
    id         BLOB PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('system', 'console', 'user')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT, WITHOUT ROWID;

-- What actors did, or were refused: a line is added in the transaction of the act and never changed. It stays for as long as
-- the registry does: who removed what must be told for longer than what was removed is kept.
CREATE TABLE journal (
    id             BLOB PRIMARY KEY,
    time           INTEGER NOT NULL,
    actor_id       BLOB NOT NULL REFERENCES actors (id),
    -- One for all lines of one call.
    request_id     BLOB NOT NULL,
    -- The act and what kind of thing it was done to, such as items.hold.
    act            TEXT NOT NULL,
    -- What it was done to, as people name it. Not a reference: what it names may go.
    target         TEXT NOT NULL,
    institution_id BLOB REFERENCES institutions (id),
    outcome        TEXT NOT NULL CHECK (outcome IN ('begun', 'done', 'failed', 'refused')),
    detail         TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX journal_by_institution ON journal (institution_id, id);
CREATE INDEX journal_by_actor ON journal (actor_id, id);
CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'a line of the journal is never changed'); END;
CREATE TRIGGER journal_is_not_removed BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'a line of the journal is never removed'); END;

-- On whose behalf workers act; none for work items of before.
ALTER TABLE work_items ADD COLUMN actor_id BLOB REFERENCES actors (id);
-- On whose behalf it was done, where that is known.
ALTER TABLE events ADD COLUMN actor_id BLOB REFERENCES actors (id);
