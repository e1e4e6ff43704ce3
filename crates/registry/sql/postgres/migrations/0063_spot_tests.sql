-- Spot tests: a random object is restored, and people look at what came out. A row for each test, four a year for each institution
-- unless the settings say otherwise: they stay, as evidence that what is kept can be restored.
CREATE TABLE spot_tests (
    id                UUID PRIMARY KEY,
    institution_id    UUID NOT NULL REFERENCES institutions (id),
    object_id         UUID NOT NULL,
    object_identifier TEXT COLLATE "C" NOT NULL,
    version           BIGINT NOT NULL,
    -- The work item that restores it. The row of an item may be dropped later.
    item_id           UUID NOT NULL,
    state             TEXT COLLATE "C" NOT NULL CHECK (state IN ('restoring', 'restored', 'confirmed', 'failed', 'closed', 'dropped')),
    -- Why it failed or was dropped, or what a person has said of it.
    reason            TEXT COLLATE "C",
    place             TEXT COLLATE "C",
    size              BIGINT,
    sha256            TEXT COLLATE "C",
    begun_at          BIGINT NOT NULL,
    -- When the restoration was seen to have ended.
    ended_at          BIGINT,
    reminded_at       BIGINT,
    -- When a person decided, and who.
    decided_at        BIGINT,
    decided_by        TEXT COLLATE "C"
);
CREATE INDEX spot_tests_open ON spot_tests (id) WHERE state IN ('restoring', 'restored', 'failed');
CREATE INDEX spot_tests_failed ON spot_tests (id) WHERE state = 'failed';
CREATE INDEX spot_tests_restoring ON spot_tests (institution_id) WHERE state = 'restoring';

-- Whose turn it is: when the last test of an institution began, and of which object.
CREATE TABLE spot_test_turns (
    institution_id UUID PRIMARY KEY REFERENCES institutions (id),
    last_at        BIGINT NOT NULL,
    after_object   UUID
);

-- The last bytes of an identifier are random, so this is a random order that stays. Going through it tests every object equally often.
CREATE INDEX objects_by_lot ON objects (institution_id, substr(uuid_send(id), 13), id);
