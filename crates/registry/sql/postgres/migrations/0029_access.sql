-- What of a collection the public may see, and from when on; nothing serves it yet.
ALTER TABLE collections ADD COLUMN public_access TEXT COLLATE "C" NOT NULL DEFAULT 'none'
    CHECK (public_access IN ('none', 'metadata', 'files'));
ALTER TABLE collections ADD COLUMN embargo_until BIGINT;

-- Bytes that the deposits of an institution may have in staging at the same time; none: no limit but that of staging itself.
ALTER TABLE institutions ADD COLUMN staging_quota BIGINT;

-- No two objects have one ARK.
CREATE UNIQUE INDEX objects_by_ark ON objects (ark) WHERE ark IS NOT NULL;
