-- Which acts are in a chain. An entry that is in the stores alone keeps its row, with an empty line: an object that a store brings back later is
-- not appended a second time.
CREATE INDEX audit_entries_by_act ON audit_entries (source, id);

-- 1: the rows of its entries are still to be added, from a store.
ALTER TABLE audit_ranges ADD COLUMN acts_lacking BIGINT NOT NULL DEFAULT 0;
UPDATE audit_ranges SET acts_lacking = 1 WHERE moved_at IS NOT NULL;
CREATE INDEX audit_ranges_lacking ON audit_ranges (chain, last) WHERE acts_lacking = 1;

-- Keys that a chain has announced, each with the entry that announced it first; none: that heads are not signed any more, by the last such entry.
CREATE TABLE audit_keys (
    chain       TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    sequence    BIGINT NOT NULL,
    PRIMARY KEY (chain, fingerprint)
);
INSERT INTO audit_keys (chain, fingerprint, sequence)
SELECT chain, head::json ->> 'key', min(last) FROM audit_ranges WHERE head::json ->> 'key' IS NOT NULL GROUP BY 1, 2;
INSERT INTO audit_keys (chain, fingerprint, sequence)
SELECT name, signing_key, sequence FROM audit_chains WHERE signing_key IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO audit_keys (chain, fingerprint, sequence)
SELECT name, 'none', sequence FROM audit_chains
WHERE signing_key IS NULL AND EXISTS (SELECT 1 FROM audit_keys k WHERE k.chain = audit_chains.name) ON CONFLICT DO NOTHING;

-- Ranges in a store that contradict those of another store, as long as they are there.
CREATE TABLE audit_contradictions (
    chain       TEXT COLLATE "C" NOT NULL,
    store       TEXT COLLATE "C" NOT NULL,
    first       BIGINT NOT NULL,
    last        BIGINT NOT NULL,
    -- The SHA-256 of the file of the head.
    head        BYTEA NOT NULL,
    found_at    BIGINT NOT NULL,
    -- 1: the chain has other entries there, of which it is certain that they are right. 0: nothing is published of the chain meanwhile.
    is_decided  BIGINT NOT NULL,
    PRIMARY KEY (chain, store, last)
);
