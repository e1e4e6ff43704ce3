-- Requests to delete objects and files: who asked, who approved or refused, and why. Rows stay for as long as the registry does: who removed
-- what must be known for longer than what was removed is kept.
CREATE TABLE deletion_requests (
    id                 BLOB PRIMARY KEY,
    institution_id     BLOB NOT NULL REFERENCES institutions (id),
    -- What is to be deleted, as people know it.
    name               TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('requested', 'approved', 'denied', 'cancelled', 'expired', 'completed', 'failed')),
    reason             TEXT NOT NULL,
    -- How many objects it names, and how many files of objects that are not named as a whole.
    objects            INTEGER NOT NULL,
    files              INTEGER NOT NULL,
    -- The user, who is never removed; the name under which the journal has the act, and the account of the operating system where it was done at the console.
    requested_by       BLOB NOT NULL,
    requested_actor    BLOB NOT NULL REFERENCES actors (id),
    requested_account  TEXT,
    requested_at       INTEGER NOT NULL,
    -- It can be approved until then.
    expires_at         INTEGER NOT NULL,
    approved_by        BLOB,
    approved_actor     BLOB REFERENCES actors (id),
    approved_account   TEXT,
    approved_at        INTEGER,
    approval_note      TEXT,
    -- The token by which it was approved; none at the console.
    approval_token     TEXT,
    -- Who denied or cancelled it. None of a request whose work items were cancelled.
    closed_by          BLOB,
    closed_actor       BLOB REFERENCES actors (id),
    closed_account     TEXT,
    closed_at          INTEGER,
    closing_reason     TEXT,
    -- Not a reference: a batch goes with its items after a time.
    batch_id           BLOB,
    -- When its work items last ended, how often they did, and when that was told.
    ended_at           INTEGER,
    ends               INTEGER NOT NULL DEFAULT 0,
    told_at            INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX deletion_requests_by_institution ON deletion_requests (institution_id, id);
CREATE INDEX deletion_requests_by_batch ON deletion_requests (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX deletion_requests_by_expiry ON deletion_requests (expires_at) WHERE state = 'requested';
CREATE INDEX deletion_requests_at_work ON deletion_requests (id) WHERE state = 'approved';
CREATE INDEX deletion_requests_untold ON deletion_requests (id) WHERE ended_at IS NOT NULL AND told_at IS NULL;

-- What each names. Rows stay with the request.
CREATE TABLE deletion_targets (
    -- Not a reference: the request is made when all that it names is noted.
    request_id BLOB NOT NULL,
    object_id  BLOB NOT NULL REFERENCES objects (id),
    -- The file, or the object itself where all of it is named.
    target_id  BLOB NOT NULL,
    -- The logical path of the file.
    path       TEXT,
    -- Which generation and version of the object there was when it was named: what was deposited since is not meant.
    generation BLOB NOT NULL,
    version    INTEGER NOT NULL,
    -- The work item that deletes it. Not a reference: it goes after a time.
    item_id    BLOB,
    PRIMARY KEY (request_id, object_id, target_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deletion_targets_by_object ON deletion_targets (object_id, request_id);
CREATE INDEX deletion_targets_open ON deletion_targets (request_id, object_id) WHERE item_id IS NULL;

-- Requests of which not everything is noted yet.
CREATE TABLE deletion_drafts (
    request_id BLOB PRIMARY KEY,
    made_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deletion_drafts_by_time ON deletion_drafts (made_at);

-- Tokens by which a request is approved: SHA-256 of each, each for one user, usable once.
CREATE TABLE deletion_tokens (
    id         TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,
    request_id BLOB NOT NULL REFERENCES deletion_requests (id),
    user_id    BLOB NOT NULL,
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX deletion_tokens_by_request ON deletion_tokens (request_id);

-- All actors of a user: those who approve may not have been made by those who ask.
CREATE INDEX actors_by_user_name ON actors (user_name) WHERE user_name IS NOT NULL;
