-- By what a user acts: the account of the operating system at the console, or the API key of a program. Where there is one of them, `name`, which
-- is unique, names it as well, and `user_name` is the name alone.
ALTER TABLE actors ADD COLUMN user_name TEXT;
ALTER TABLE actors ADD COLUMN account TEXT;
ALTER TABLE actors ADD COLUMN api_key TEXT;

-- Who has made a user, or changed what it may do, and when: a row for each time. Who asks for a removal may not have made the user that approves it.
CREATE TABLE role_grants (
    user_id    BLOB NOT NULL REFERENCES users (id),
    number     INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    -- 'added', 'changed' or 'activated'.
    act        TEXT NOT NULL CHECK (act IN ('added', 'changed', 'activated')),
    role       TEXT NOT NULL,
    actor_id   BLOB NOT NULL REFERENCES actors (id),
    -- The user who did it, where it was one.
    by_user_id BLOB REFERENCES users (id),
    PRIMARY KEY (user_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX role_grants_by_user ON role_grants (by_user_id) WHERE by_user_id IS NOT NULL;

-- The object that an act was done to, or that belongs to what it was done to, as it was named then: `INSTITUTION/NAME`.
ALTER TABLE journal ADD COLUMN object TEXT;
CREATE INDEX journal_by_object ON journal (object, number) WHERE object IS NOT NULL;
