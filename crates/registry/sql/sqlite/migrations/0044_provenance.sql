-- What activities made: the entities, and which activity did what to them, and from which record.
CREATE TABLE entities (
    -- Follows from institution and entity.
    id             BLOB PRIMARY KEY,
    institution_id BLOB REFERENCES institutions (id),
    entity         TEXT NOT NULL,
    -- The entity stays when it is no longer valid.
    invalidated_at INTEGER,
    invalidated_by BLOB REFERENCES activities (id)
) STRICT, WITHOUT ROWID;
-- Rows are added and never changed.
CREATE TABLE provenance (
    activity_id BLOB   NOT NULL,
    run         INTEGER NOT NULL,
    -- The identifier that the record has, or would have, as an entity.
    used_id     BLOB   NOT NULL,
    -- Whether it ended the validity of the entity, or made or revised it.
    invalidates INTEGER NOT NULL,
    entity_id   BLOB   NOT NULL,
    -- Whether the entity was made by it.
    is_first    INTEGER NOT NULL,
    -- The record, where it is not the entity itself.
    record      TEXT,
    at          INTEGER NOT NULL,
    PRIMARY KEY (activity_id, run, used_id, invalidates)
) STRICT, WITHOUT ROWID;
CREATE INDEX provenance_by_entity ON provenance (entity_id, at, activity_id);

-- What was harvested, as it came: a row for each state of a record of a source.
CREATE TABLE documents (
    -- Follows from institution, source, record and bytes.
    id             BLOB PRIMARY KEY,
    institution_id BLOB REFERENCES institutions (id),
    -- Where it was found.
    source         TEXT NOT NULL,
    -- Its identifier there.
    record         TEXT NOT NULL,
    media_type     TEXT NOT NULL,
    -- When it was changed there, in the words of the source.
    datestamp      TEXT,
    bytes          BLOB NOT NULL,
    made_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_by_time ON documents (made_at);
