-- Which part of an object a deposit is, from its making on: parts of one set do not wait for each other.
CREATE TABLE item_parts (
    item_id UUID PRIMARY KEY REFERENCES work_items (id),
    number  BIGINT NOT NULL,
    total   BIGINT NOT NULL
);

-- The parts of which an object was put together: a row for each published version that a part made. The work item is the
-- version's.
CREATE TABLE object_parts (
    object_id  UUID NOT NULL REFERENCES objects (id),
    generation UUID NOT NULL,
    version    BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    total      BIGINT NOT NULL,
    PRIMARY KEY (object_id, generation, version)
);
