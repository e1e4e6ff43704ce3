-- Which part of an object a deposit is, from its making on: parts of one set do not wait for each other.
CREATE TABLE item_parts (
    item_id BLOB PRIMARY KEY REFERENCES work_items (id),
    number  INTEGER NOT NULL,
    total   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The parts of which an object was put together: a row for each published version that a part made. The work item is the
-- version's.
CREATE TABLE object_parts (
    object_id  BLOB NOT NULL REFERENCES objects (id),
    generation BLOB NOT NULL,
    version    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    total      INTEGER NOT NULL,
    PRIMARY KEY (object_id, generation, version)
) STRICT, WITHOUT ROWID;
