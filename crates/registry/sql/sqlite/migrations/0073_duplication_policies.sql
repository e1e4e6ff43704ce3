-- Duplication policies: a row for each version of the policy of an institution, which stays. Of a row only the approval is set, once.
CREATE TABLE duplication_policies (
    institution_id BLOB NOT NULL REFERENCES institutions (id),
    version        INTEGER NOT NULL CHECK (version > 0),
    -- Whether a rule of it deletes, so that it does nothing of that until it is approved.
    deletes        INTEGER NOT NULL,
    reason         TEXT NOT NULL,
    set_by         TEXT NOT NULL,
    -- The user who set it; none for an account of the operating system.
    user_id        BLOB,
    set_at         INTEGER NOT NULL,
    approved_by    TEXT,
    approved_at    INTEGER,
    -- JSON. The last column: what is read of the others does not touch it.
    document       TEXT NOT NULL,
    PRIMARY KEY (institution_id, version)
) STRICT, WITHOUT ROWID;
