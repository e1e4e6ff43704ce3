-- Requests to delete objects and files: who asked, who approved or refused, and why. Rows stay for as long as the registry does: who removed
-- what must be known for longer than what was removed is kept.
CREATE TABLE deletion_requests (
    id                 UUID PRIMARY KEY,
    institution_id     UUID NOT NULL REFERENCES institutions (id),
    -- What is to be deleted, as people know it.
    name               TEXT COLLATE "C" NOT NULL,
    state              TEXT COLLATE "C" NOT NULL CHECK (state IN ('requested', 'approved', 'denied', 'cancelled', 'expired', 'completed', 'failed')),
    reason             TEXT COLLATE "C" NOT NULL,
    -- How many objects it names, and how many files of objects that are not named as a whole.
    objects            BIGINT NOT NULL,
    files              BIGINT NOT NULL,
    -- The user, who is never removed; the name under which the journal has the act, and the account of the operating system where it was done at the console.
    requested_by       UUID NOT NULL,
    requested_actor    UUID NOT NULL REFERENCES actors (id),
    requested_account  TEXT COLLATE "C",
    requested_at       BIGINT NOT NULL,
    -- It can be approved until then.
    expires_at         BIGINT NOT NULL,
    approved_by        UUID,
    approved_actor     UUID REFERENCES actors (id),
    approved_account   TEXT COLLATE "C",
    approved_at        BIGINT,
    approval_note      TEXT COLLATE "C",
    -- The token by which it was approved; none at the console.
    approval_token     TEXT COLLATE "C",
    -- Who denied or cancelled it. None of a request whose work items were cancelled.
    closed_by          UUID,
    closed_actor       UUID REFERENCES actors (id),
    closed_account     TEXT COLLATE "C",
    closed_at          BIGINT,
    closing_reason     TEXT COLLATE "C",
    -- Not a reference: a batch goes with its items after a time.
    batch_id           UUID,
    -- When its work items last ended, how often they did, and when that was told.
    ended_at           BIGINT,
    ends               BIGINT NOT NULL DEFAULT 0,
    told_at            BIGINT
);
CREATE INDEX deletion_requests_by_institution ON deletion_requests (institution_id, id);
CREATE INDEX deletion_requests_by_batch ON deletion_requests (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX deletion_requests_by_expiry ON deletion_requests (expires_at) WHERE state = 'requested';
CREATE INDEX deletion_requests_at_work ON deletion_requests (id) WHERE state = 'approved';
CREATE INDEX deletion_requests_untold ON deletion_requests (id) WHERE ended_at IS NOT NULL AND told_at IS NULL;

-- What each names. Rows stay with the request.
CREATE TABLE deletion_targets (
    -- Not a reference: the request is made when all that it names is noted.
    request_id UUID NOT NULL,
    object_id  UUID NOT NULL REFERENCES objects (id),
    -- The file, or the object itself where all of it is named.
    target_id  UUID NOT NULL,
    -- The logical path of the file.
    path       TEXT COLLATE "C",
    -- Which generation and version of the object there was when it was named: what was deposited since is not meant.
    generation UUID NOT NULL,
    version    BIGINT NOT NULL,
    -- The work item that deletes it. Not a reference: it goes after a time.
    item_id    UUID,
    PRIMARY KEY (request_id, object_id, target_id)
);
CREATE INDEX deletion_targets_by_object ON deletion_targets (object_id, request_id);
CREATE INDEX deletion_targets_open ON deletion_targets (request_id, object_id) WHERE item_id IS NULL;

-- Requests of which not everything is noted yet.
CREATE TABLE deletion_drafts (
    request_id UUID PRIMARY KEY,
    made_at    BIGINT NOT NULL
);
CREATE INDEX deletion_drafts_by_time ON deletion_drafts (made_at);

-- Tokens by which a request is approved: SHA-256 of each, each for one user, usable once.
CREATE TABLE deletion_tokens (
    id         TEXT COLLATE "C" PRIMARY KEY,
    digest     BYTEA NOT NULL,
    request_id UUID NOT NULL REFERENCES deletion_requests (id),
    user_id    UUID NOT NULL,
    issued_at  BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at   BIGINT
);
CREATE INDEX deletion_tokens_by_request ON deletion_tokens (request_id);

-- All actors of a user: those who approve may not have been made by those who ask.
CREATE INDEX actors_by_user_name ON actors (user_name) WHERE user_name IS NOT NULL;
