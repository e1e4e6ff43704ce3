-- Whether each user of an institution needs a second factor.
ALTER TABLE institutions ADD COLUMN second_factor_required INTEGER NOT NULL DEFAULT 0;

CREATE TABLE users (
    id                      BLOB PRIMARY KEY,
    -- The address in one form: by it a user is found, and it is the name of the actor.
    account                 TEXT NOT NULL UNIQUE,
    -- The address as it was given, to which mails go.
    email                   TEXT NOT NULL,
    role                    TEXT NOT NULL CHECK (role IN ('system_admin', 'institution_admin', 'institution_user', 'auditor')),
    -- None for a user of the whole installation.
    institution_id          BLOB REFERENCES institutions (id),
    state                   TEXT NOT NULL CHECK (state IN ('active', 'deactivated')),
    -- A PHC string; none where no password was chosen.
    password_hash           TEXT,
    password_set_at         INTEGER,
    -- Whether the password is too short to be used without a second factor.
    password_needs_factor   INTEGER NOT NULL DEFAULT 0,
    -- The secret of the second factor, encrypted, and with which key.
    factor_sealed           BLOB,
    factor_key              TEXT,
    factor_set_at           INTEGER,
    -- When a first code was given; before that there is no second factor.
    factor_confirmed_at     INTEGER,
    -- The last step whose code was used.
    factor_last_step        INTEGER,
    signed_in_at            INTEGER,
    created_at              INTEGER NOT NULL,
    updated_at              INTEGER NOT NULL,
    deactivated_at          INTEGER,
    CHECK ((role = 'system_admin' AND institution_id IS NULL) OR (role = 'auditor')
        OR (role IN ('institution_admin', 'institution_user') AND institution_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX users_by_institution ON users (institution_id, account);
-- By the key that has encrypted them: those of a key that is lost have to be found.
CREATE INDEX users_by_factor_key ON users (factor_key) WHERE factor_key IS NOT NULL;

-- What replaces a second factor that is lost: SHA-256 of each code, usable once.
CREATE TABLE backup_codes (
    user_id BLOB NOT NULL REFERENCES users (id),
    digest  BLOB NOT NULL,
    used_at INTEGER,
    PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;

-- Invitations and password resets: SHA-256 of each token, usable once.
CREATE TABLE one_time_tokens (
    id         TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('invitation', 'password_reset')),
    user_id    BLOB NOT NULL REFERENCES users (id),
    actor_id   BLOB NOT NULL REFERENCES actors (id),
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- When it was used, or another one took its place.
    ended_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX one_time_tokens_by_user ON one_time_tokens (user_id, kind);
CREATE INDEX one_time_tokens_by_expiry ON one_time_tokens (expires_at);

-- Keys of programs: SHA-256 of each. The rows stay, so that it is known who had access.
CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    digest       BLOB NOT NULL,
    user_id      BLOB NOT NULL REFERENCES users (id),
    actor_id     BLOB NOT NULL REFERENCES actors (id),
    -- Words with spaces between them.
    scopes       TEXT NOT NULL,
    issued_at    INTEGER NOT NULL,
    -- None: it does not expire.
    expires_at   INTEGER,
    -- When it was revoked.
    ended_at     INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_user ON api_keys (user_id, id);

CREATE TABLE sessions (
    id              BLOB PRIMARY KEY,
    token_id        TEXT NOT NULL UNIQUE,
    token_digest    BLOB NOT NULL,
    -- The token before it was replaced, for requests that were on their way.
    previous_id     TEXT UNIQUE,
    previous_digest BLOB,
    user_id         BLOB NOT NULL REFERENCES users (id),
    -- Whether everything was proved that is required; before that it is for proving it.
    is_complete     INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL,
    rotated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_start ON sessions (started_at);

-- How often a password, a second factor or a network address was tried. The key of an account is the hash of what was typed.
CREATE TABLE throttles (
    key         TEXT PRIMARY KEY,
    -- None for an address, and for an account that there is not. Not a reference: users are never removed.
    user_id     BLOB,
    recent      INTEGER NOT NULL,
    consecutive INTEGER NOT NULL,
    last_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX throttles_by_time ON throttles (last_at) WHERE user_id IS NULL;
