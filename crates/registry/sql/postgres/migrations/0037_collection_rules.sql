-- The rules of a collection, version by version: what is changed makes a new version, and a batch keeps the one it began with.
-- `accepted`: the types of submission that it takes, separated by spaces; none: all. `shoulder`: what the names of its new ARKs
-- begin with; none: as the settings say.
CREATE TABLE collection_rules (
    collection_id   UUID NOT NULL REFERENCES collections (id),
    version         BIGINT NOT NULL CHECK (version > 0),
    set_at          BIGINT NOT NULL,
    set_by          TEXT,
    profile         TEXT,
    profile_version BIGINT,
    placement       TEXT,
    public_access   TEXT COLLATE "C" NOT NULL DEFAULT 'none' CHECK (public_access IN ('none', 'metadata', 'files')),
    embargo_until   BIGINT,
    priority        BIGINT CHECK (priority BETWEEN 0 AND 99),
    accepted        TEXT,
    most_bytes      BIGINT,
    most_rows       BIGINT,
    shoulder        TEXT,
    PRIMARY KEY (collection_id, version)
);
CREATE INDEX collection_rules_by_profile ON collection_rules (profile) WHERE profile IS NOT NULL;
INSERT INTO collection_rules (collection_id, version, set_at, profile, profile_version, placement, public_access, embargo_until)
    SELECT id, 1, updated_at, profile, profile_version, placement, public_access, embargo_until FROM collections;
ALTER TABLE collections ADD COLUMN rules_version BIGINT NOT NULL DEFAULT 1;
DROP INDEX collections_by_profile;
ALTER TABLE collections DROP COLUMN profile;
ALTER TABLE collections DROP COLUMN profile_version;
ALTER TABLE collections DROP COLUMN placement;
ALTER TABLE collections DROP COLUMN public_access;
ALTER TABLE collections DROP COLUMN embargo_until;
ALTER TABLE batches ADD COLUMN rules_version BIGINT;
UPDATE batches SET rules_version = 1 WHERE collection_id IS NOT NULL;
