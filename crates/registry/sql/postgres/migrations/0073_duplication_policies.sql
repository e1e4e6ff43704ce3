-- Duplication policies: a row for each version of the policy of an institution, which stays. Of a row only the approval is set, once.
CREATE TABLE duplication_policies (
    institution_id UUID NOT NULL REFERENCES institutions (id),
    version        BIGINT NOT NULL CHECK (version > 0),
    -- Whether a rule of it deletes, so that it does nothing of that until it is approved.
    deletes        BOOLEAN NOT NULL,
    reason         TEXT COLLATE "C" NOT NULL,
    set_by         TEXT COLLATE "C" NOT NULL,
    -- The user who set it; none for an account of the operating system.
    user_id        UUID,
    set_at         BIGINT NOT NULL,
    approved_by    TEXT COLLATE "C",
    approved_at    BIGINT,
    -- JSON. The last column: what is read of the others does not touch it.
    document       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (institution_id, version)
);
