-- What activities made: the entities, and which activity did what to them, and from which record.
CREATE TABLE entities (
    -- Follows from institution and entity.
    id             UUID PRIMARY KEY,
    institution_id UUID REFERENCES institutions (id),
    entity         TEXT COLLATE "C" NOT NULL,
    -- The entity stays when it is no longer valid.
    invalidated_at BIGINT,
    invalidated_by UUID REFERENCES activities (id)
);
-- Rows are added and never changed.
CREATE TABLE provenance (
    activity_id UUID   NOT NULL,
    run         BIGINT NOT NULL,
    -- The identifier that the record has, or would have, as an entity.
    used_id     UUID   NOT NULL,
    -- Whether it ended the validity of the entity, or made or revised it.
    invalidates BOOLEAN NOT NULL,
    entity_id   UUID   NOT NULL,
    -- Whether the entity was made by it.
    is_first    BOOLEAN NOT NULL,
    -- The record, where it is not the entity itself.
    record      TEXT COLLATE "C",
    at          BIGINT NOT NULL,
    PRIMARY KEY (activity_id, run, used_id, invalidates)
);
CREATE INDEX provenance_by_entity ON provenance (entity_id, at, activity_id);

-- What was harvested, as it came: a row for each state of a record of a source.
CREATE TABLE documents (
    -- Follows from institution, source, record and bytes.
    id             UUID PRIMARY KEY,
    institution_id UUID REFERENCES institutions (id),
    -- Where it was found.
    source         TEXT COLLATE "C" NOT NULL,
    -- Its identifier there.
    record         TEXT COLLATE "C" NOT NULL,
    media_type     TEXT COLLATE "C" NOT NULL,
    -- When it was changed there, in the words of the source.
    datestamp      TEXT COLLATE "C",
    bytes          BYTEA NOT NULL,
    made_at        BIGINT NOT NULL
);
CREATE INDEX documents_by_time ON documents (made_at);
