-- Acts that are in no audit chain yet: lines of the journal, preservation events, published versions. Triggers add them, so that no act is
-- left out; those of versions that are not published yet follow with these. Checks of copies that were passed are none: there is one for each
-- object, store and round.
CREATE TABLE audit_pending (
    source TEXT NOT NULL CHECK (source IN ('event', 'journal', 'version')),
    id     BLOB NOT NULL,
    PRIMARY KEY (source, id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER journal_is_audited AFTER INSERT ON journal
BEGIN INSERT INTO audit_pending (source, id) VALUES ('journal', NEW.id) ON CONFLICT DO NOTHING; END;
CREATE TRIGGER event_is_audited AFTER INSERT ON events WHEN NEW.version IS NULL AND NOT (NEW.type = 'fixity check' AND NEW.outcome = 'success')
BEGIN INSERT INTO audit_pending (source, id) VALUES ('event', NEW.id) ON CONFLICT DO NOTHING; END;
CREATE TRIGGER version_is_audited AFTER UPDATE OF state ON versions WHEN NEW.state = 'published' AND OLD.state <> 'published'
BEGIN INSERT INTO audit_pending (source, id) VALUES ('version', NEW.id) ON CONFLICT DO NOTHING; END;
CREATE TRIGGER made_version_is_audited AFTER INSERT ON versions WHEN NEW.state = 'published'
BEGIN INSERT INTO audit_pending (source, id) VALUES ('version', NEW.id) ON CONFLICT DO NOTHING; END;
INSERT INTO audit_pending (source, id) SELECT 'journal', id FROM journal;
INSERT INTO audit_pending (source, id) SELECT 'event', id FROM events
WHERE version IS NULL AND NOT (type = 'fixity check' AND outcome = 'success');
INSERT INTO audit_pending (source, id) SELECT 'version', id FROM versions WHERE state = 'published';

-- The end of each chain.
CREATE TABLE audit_chains (
    -- The domain name of the institution, or _system.
    name           TEXT PRIMARY KEY,
    institution_id BLOB UNIQUE REFERENCES institutions (id),
    sequence       INTEGER NOT NULL,
    sha256         BLOB NOT NULL,
    -- Up to which entry, in ranges, which are published.
    published      INTEGER NOT NULL,
    published_at   INTEGER NOT NULL,
    -- How many entries of each source, as JSON.
    counts         TEXT NOT NULL,
    -- By which key its heads are signed, as its last entry about that says.
    signing_key    TEXT
) STRICT, WITHOUT ROWID;

-- Entries that lie in the registry: those of ranges that were moved into the stores do not.
CREATE TABLE audit_entries (
    chain    TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    source   TEXT NOT NULL,
    id       BLOB NOT NULL,
    line     TEXT NOT NULL,
    PRIMARY KEY (chain, sequence)
) STRICT, WITHOUT ROWID;

-- Ranges of entries, each with the head that is published with it.
CREATE TABLE audit_ranges (
    chain     TEXT NOT NULL,
    last      INTEGER NOT NULL,
    made_at   INTEGER NOT NULL,
    head      TEXT NOT NULL,
    signature BLOB,
    -- The public key as PEM, where the head is signed.
    public_key TEXT,
    -- Since when its entries lie in the stores alone.
    moved_at  INTEGER,
    PRIMARY KEY (chain, last)
) STRICT, WITHOUT ROWID;

-- Stores that have a range with its head.
CREATE TABLE audit_copies (
    store      TEXT NOT NULL,
    chain      TEXT NOT NULL,
    last       INTEGER NOT NULL,
    -- When it was read back last.
    checked_at INTEGER NOT NULL,
    PRIMARY KEY (chain, last, store)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_copies_by_check ON audit_copies (store, checked_at);
