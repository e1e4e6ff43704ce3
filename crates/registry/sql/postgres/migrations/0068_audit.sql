-- Acts that are in no audit chain yet: lines of the journal, preservation events, published versions. Triggers add them, so that no act is
-- left out; those of versions that are not published yet follow with these. Checks of copies that were passed are none: there is one for each
-- object, store and round.
CREATE TABLE audit_pending (
    source TEXT COLLATE "C" NOT NULL CHECK (source IN ('event', 'journal', 'version')),
    id     UUID NOT NULL,
    PRIMARY KEY (source, id)
);
CREATE FUNCTION journal_is_audited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO audit_pending (source, id) VALUES ('journal', NEW.id) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
CREATE TRIGGER journal_is_audited AFTER INSERT ON journal FOR EACH ROW EXECUTE FUNCTION journal_is_audited();
CREATE FUNCTION event_is_audited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO audit_pending (source, id) VALUES ('event', NEW.id) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
CREATE TRIGGER event_is_audited AFTER INSERT ON events FOR EACH ROW
WHEN (NEW.version IS NULL AND NOT (NEW.type = 'fixity check' AND NEW.outcome = 'success')) EXECUTE FUNCTION event_is_audited();
CREATE FUNCTION version_is_audited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO audit_pending (source, id) VALUES ('version', NEW.id) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
CREATE TRIGGER version_is_audited AFTER UPDATE OF state ON versions FOR EACH ROW
WHEN (NEW.state = 'published' AND OLD.state <> 'published') EXECUTE FUNCTION version_is_audited();
CREATE TRIGGER made_version_is_audited AFTER INSERT ON versions FOR EACH ROW
WHEN (NEW.state = 'published') EXECUTE FUNCTION version_is_audited();
INSERT INTO audit_pending (source, id) SELECT 'journal', id FROM journal;
INSERT INTO audit_pending (source, id) SELECT 'event', id FROM events
WHERE version IS NULL AND NOT (type = 'fixity check' AND outcome = 'success');
INSERT INTO audit_pending (source, id) SELECT 'version', id FROM versions WHERE state = 'published';

-- The end of each chain.
CREATE TABLE audit_chains (
    -- The domain name of the institution, or _system.
    name           TEXT COLLATE "C" PRIMARY KEY,
    institution_id UUID UNIQUE REFERENCES institutions (id),
    sequence       BIGINT NOT NULL,
    sha256         BYTEA NOT NULL,
    -- Up to which entry, in ranges, which are published.
    published      BIGINT NOT NULL,
    published_at   BIGINT NOT NULL,
    -- How many entries of each source, as JSON.
    counts         TEXT COLLATE "C" NOT NULL,
    -- By which key its heads are signed, as its last entry about that says.
    signing_key    TEXT COLLATE "C"
);

-- Entries that lie in the registry: those of ranges that were moved into the stores do not.
CREATE TABLE audit_entries (
    chain    TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    source   TEXT COLLATE "C" NOT NULL,
    id       UUID NOT NULL,
    line     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (chain, sequence)
);

-- Ranges of entries, each with the head that is published with it.
CREATE TABLE audit_ranges (
    chain     TEXT COLLATE "C" NOT NULL,
    last      BIGINT NOT NULL,
    made_at   BIGINT NOT NULL,
    head      TEXT COLLATE "C" NOT NULL,
    signature BYTEA,
    -- The public key as PEM, where the head is signed.
    public_key TEXT COLLATE "C",
    -- Since when its entries lie in the stores alone.
    moved_at  BIGINT,
    PRIMARY KEY (chain, last)
);

-- Stores that have a range with its head.
CREATE TABLE audit_copies (
    store      TEXT COLLATE "C" NOT NULL,
    chain      TEXT COLLATE "C" NOT NULL,
    last       BIGINT NOT NULL,
    -- When it was read back last.
    checked_at BIGINT NOT NULL,
    PRIMARY KEY (chain, last, store)
);
CREATE INDEX audit_copies_by_check ON audit_copies (store, checked_at);
