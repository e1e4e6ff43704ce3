-- The versions of bag profiles. A version is never changed or deleted, since deposits name the one that they were checked
-- against; one that is removed is used by no new deposit.
CREATE TABLE profiles (
    name           TEXT NOT NULL CHECK (name <> ''),
    version        INTEGER NOT NULL CHECK (version > 0),
    -- built-in: of a program; file: a person added it; stores: a record in a store names it, and the document is missing.
    origin         TEXT NOT NULL CHECK (origin IN ('built-in', 'file', 'stores')),
    -- The program, or the name of the file.
    source         TEXT NOT NULL,
    -- What the document says of itself.
    identifier     TEXT,
    stated_version TEXT,
    description    TEXT,
    document       BLOB CHECK (length(document) <= 1048576),
    sha256         BLOB,
    sha512         BLOB NOT NULL,
    actor_id       BLOB REFERENCES actors (id),
    added_at       INTEGER NOT NULL,
    removed_at     INTEGER,
    PRIMARY KEY (name, version),
    CHECK ((document IS NULL) = (origin = 'stores'))
) STRICT;
CREATE INDEX profiles_by_identifier ON profiles (identifier);
CREATE TRIGGER profiles_are_not_changed BEFORE UPDATE ON profiles
WHEN OLD.name IS NOT NEW.name OR OLD.version IS NOT NEW.version OR OLD.document IS NOT NULL
    AND (OLD.document IS NOT NEW.document OR OLD.sha256 IS NOT NEW.sha256 OR OLD.sha512 IS NOT NEW.sha512)
BEGIN SELECT RAISE(ABORT, 'a version of a profile is never changed'); END;
CREATE TRIGGER profiles_are_not_deleted BEFORE DELETE ON profiles
BEGIN SELECT RAISE(ABORT, 'a version of a profile is never deleted'); END;

-- Which version of its profile a collection asks for; none: the newest.
ALTER TABLE collections ADD COLUMN profile_version INTEGER;
-- Profiles were named in any letter case, and two by a short name.
UPDATE collections SET profile = CASE lower(profile) WHEN 'aptrust' THEN 'aptrust-2.3' WHEN 'btr' THEN 'btr-1.0'
    ELSE lower(profile) END
WHERE profile IS NOT NULL;
CREATE INDEX collections_by_profile ON collections (profile) WHERE profile IS NOT NULL;
-- Which version of its profile the head of an object was checked against; none where that was not recorded.
ALTER TABLE objects ADD COLUMN profile_version INTEGER;
