-- Who acts. The identifier follows from kind and name, so that every process gives an actor the same one.
CREATE TABLE actors (
    id         UUID PRIMARY KEY,
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('system', 'console', 'user')),
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (kind, name)
);

-- What actors did, or were refused: a line is added in the transaction of the act and never changed. It stays for as long as
-- the registry does: who removed what must be told for longer than what was removed is kept.
CREATE TABLE journal (
    id             UUID PRIMARY KEY,
    time           BIGINT NOT NULL,
    actor_id       UUID NOT NULL REFERENCES actors (id),
    -- One for all lines of one call.
    request_id     UUID NOT NULL,
    -- The act and what kind of thing it was done to, such as items.hold.
    act            TEXT COLLATE "C" NOT NULL,
    -- What it was done to, as people name it. Not a reference: what it names may go.
    target         TEXT COLLATE "C" NOT NULL,
    institution_id UUID REFERENCES institutions (id),
    outcome        TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('begun', 'done', 'failed', 'refused')),
    detail         TEXT COLLATE "C"
);
CREATE INDEX journal_by_institution ON journal (institution_id, id);
CREATE INDEX journal_by_actor ON journal (actor_id, id);
CREATE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a line of the journal is never changed or removed'; END $$;
CREATE TRIGGER journal_is_append_only BEFORE UPDATE OR DELETE ON journal
FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();

-- On whose behalf workers act; none for work items of before.
ALTER TABLE work_items ADD COLUMN actor_id UUID REFERENCES actors (id);
-- On whose behalf it was done, where that is known.
ALTER TABLE events ADD COLUMN actor_id UUID REFERENCES actors (id);
