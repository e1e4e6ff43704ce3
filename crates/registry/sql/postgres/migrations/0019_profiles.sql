-- The versions of bag profiles. A version is never changed or deleted, since deposits name the one that they were checked
-- against; one that is removed is used by no new deposit.
CREATE TABLE profiles (
    name           TEXT COLLATE "C" NOT NULL CHECK (name <> ''),
    version        BIGINT NOT NULL CHECK (version > 0),
    -- built-in: of a program; file: a person added it; stores: a record in a store names it, and the document is missing.
    origin         TEXT COLLATE "C" NOT NULL CHECK (origin IN ('built-in', 'file', 'stores')),
    -- The program, or the name of the file.
    source         TEXT COLLATE "C" NOT NULL,
    -- What the document says of itself.
    identifier     TEXT COLLATE "C",
    stated_version TEXT COLLATE "C",
    description    TEXT COLLATE "C",
    document       BYTEA CHECK (length(document) <= 1048576),
    sha256         BYTEA,
    sha512         BYTEA NOT NULL,
    actor_id       UUID REFERENCES actors (id),
    added_at       BIGINT NOT NULL,
    removed_at     BIGINT,
    PRIMARY KEY (name, version),
    CHECK ((document IS NULL) = (origin = 'stores'))
);
-- A person's identifier may be longer than an entry of an index may be.
CREATE INDEX profiles_by_identifier ON profiles USING hash (identifier);
CREATE FUNCTION profile_versions_stay() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
    IF TG_OP = 'UPDATE' AND OLD.name = NEW.name AND OLD.version = NEW.version AND (OLD.document IS NULL
        OR NEW.document IS NOT DISTINCT FROM OLD.document AND NEW.sha256 IS NOT DISTINCT FROM OLD.sha256
            AND NEW.sha512 IS NOT DISTINCT FROM OLD.sha512) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a version of a profile is never changed or deleted';
END $$;
CREATE TRIGGER profile_versions_stay BEFORE UPDATE OR DELETE ON profiles
FOR EACH ROW EXECUTE FUNCTION profile_versions_stay();

-- Which version of its profile a collection asks for; none: the newest.
ALTER TABLE collections ADD COLUMN profile_version BIGINT;
-- Profiles were named in any letter case, and two by a short name.
UPDATE collections SET profile = CASE lower(profile) WHEN 'aptrust' THEN 'aptrust-2.3' WHEN 'btr' THEN 'btr-1.0'
    ELSE lower(profile) END
WHERE profile IS NOT NULL;
CREATE INDEX collections_by_profile ON collections (profile) WHERE profile IS NOT NULL;
-- Which version of its profile the head of an object was checked against; none where that was not recorded.
ALTER TABLE objects ADD COLUMN profile_version BIGINT;
