-- Whether each user of an institution needs a second factor.
ALTER TABLE institutions ADD COLUMN second_factor_required BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE users (
    id                      UUID PRIMARY KEY,
    -- The address in one form: by it a user is found, and it is the name of the actor.
    account                 TEXT COLLATE "C" NOT NULL UNIQUE,
    -- The address as it was given, to which mails go.
    email                   TEXT COLLATE "C" NOT NULL,
    role                    TEXT COLLATE "C" NOT NULL CHECK (role IN ('system_admin', 'institution_admin', 'institution_user', 'auditor')),
    -- None for a user of the whole installation.
    institution_id          UUID REFERENCES institutions (id),
    state                   TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'deactivated')),
    -- A PHC string; none where no password was chosen.
    password_hash           TEXT COLLATE "C",
    password_set_at         BIGINT,
    -- Whether the password is too short to be used without a second factor.
    password_needs_factor   BOOLEAN NOT NULL DEFAULT FALSE,
    -- The secret of the second factor, encrypted, and with which key.
    factor_sealed           BYTEA,
    factor_key              TEXT COLLATE "C",
    factor_set_at           BIGINT,
    -- When a first code was given; before that there is no second factor.
    factor_confirmed_at     BIGINT,
    -- The last step whose code was used.
    factor_last_step        BIGINT,
    signed_in_at            BIGINT,
    created_at              BIGINT NOT NULL,
    updated_at              BIGINT NOT NULL,
    deactivated_at          BIGINT,
    CHECK ((role = 'system_admin' AND institution_id IS NULL) OR (role = 'auditor')
        OR (role IN ('institution_admin', 'institution_user') AND institution_id IS NOT NULL))
);
CREATE INDEX users_by_institution ON users (institution_id, account);
-- By the key that has encrypted them: those of a key that is lost have to be found.
CREATE INDEX users_by_factor_key ON users (factor_key) WHERE factor_key IS NOT NULL;

-- What replaces a second factor that is lost: SHA-256 of each code, usable once.
CREATE TABLE backup_codes (
    user_id UUID NOT NULL REFERENCES users (id),
    digest  BYTEA NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (user_id, digest)
);

-- Invitations and password resets: SHA-256 of each token, usable once.
CREATE TABLE one_time_tokens (
    id         TEXT COLLATE "C" PRIMARY KEY,
    digest     BYTEA NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('invitation', 'password_reset')),
    user_id    UUID NOT NULL REFERENCES users (id),
    actor_id   UUID NOT NULL REFERENCES actors (id),
    issued_at  BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- When it was used, or another one took its place.
    ended_at   BIGINT
);
CREATE INDEX one_time_tokens_by_user ON one_time_tokens (user_id, kind);
CREATE INDEX one_time_tokens_by_expiry ON one_time_tokens (expires_at);

-- Keys of programs: SHA-256 of each. The rows stay, so that it is known who had access.
CREATE TABLE api_keys (
    id           TEXT COLLATE "C" PRIMARY KEY,
    digest       BYTEA NOT NULL,
    user_id      UUID NOT NULL REFERENCES users (id),
    actor_id     UUID NOT NULL REFERENCES actors (id),
    -- Words with spaces between them.
    scopes       TEXT COLLATE "C" NOT NULL,
    issued_at    BIGINT NOT NULL,
    -- None: it does not expire.
    expires_at   BIGINT,
    -- When it was revoked.
    ended_at     BIGINT,
    last_used_at BIGINT
);
CREATE INDEX api_keys_by_user ON api_keys (user_id, id);

CREATE TABLE sessions (
    id              UUID PRIMARY KEY,
    token_id        TEXT COLLATE "C" NOT NULL UNIQUE,
    token_digest    BYTEA NOT NULL,
    -- The token before it was replaced, for requests that were on their way.
    previous_id     TEXT COLLATE "C" UNIQUE,
    previous_digest BYTEA,
    user_id         UUID NOT NULL REFERENCES users (id),
    -- Whether everything was proved that is required; before that it is for proving it.
    is_complete     BOOLEAN NOT NULL,
    started_at      BIGINT NOT NULL,
    seen_at         BIGINT NOT NULL,
    rotated_at      BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_start ON sessions (started_at);

-- How often a password, a second factor or a network address was tried. The key of an account is the hash of what was typed.
CREATE TABLE throttles (
    key         TEXT COLLATE "C" PRIMARY KEY,
    -- None for an address, and for an account that there is not. Not a reference: users are never removed.
    user_id     UUID,
    recent      BIGINT NOT NULL,
    consecutive BIGINT NOT NULL,
    last_at     BIGINT
);
CREATE INDEX throttles_by_time ON throttles (last_at) WHERE user_id IS NULL;
