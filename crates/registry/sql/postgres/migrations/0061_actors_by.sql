-- By what a user acts: the account of the operating system at the console, or the API key of a program. Where there is one of them, `name`, which
-- is unique, names it as well, and `user_name` is the name alone.
ALTER TABLE actors ADD COLUMN user_name TEXT COLLATE "C";
ALTER TABLE actors ADD COLUMN account TEXT COLLATE "C";
ALTER TABLE actors ADD COLUMN api_key TEXT COLLATE "C";

-- Who has made a user, or changed what it may do, and when: a row for each time. Who asks for a removal may not have made the user that approves it.
CREATE TABLE role_grants (
    user_id    UUID NOT NULL REFERENCES users (id),
    number     BIGINT NOT NULL,
    granted_at BIGINT NOT NULL,
    -- 'added', 'changed' or 'activated'.
    act        TEXT COLLATE "C" NOT NULL CHECK (act IN ('added', 'changed', 'activated')),
    role       TEXT COLLATE "C" NOT NULL,
    actor_id   UUID NOT NULL REFERENCES actors (id),
    -- The user who did it, where it was one.
    by_user_id UUID REFERENCES users (id),
    PRIMARY KEY (user_id, number)
);
CREATE INDEX role_grants_by_user ON role_grants (by_user_id) WHERE by_user_id IS NOT NULL;

-- The object that an act was done to, or that belongs to what it was done to, as it was named then: `INSTITUTION/NAME`.
ALTER TABLE journal ADD COLUMN object TEXT COLLATE "C";
CREATE INDEX journal_by_object ON journal (object, number) WHERE object IS NOT NULL;
