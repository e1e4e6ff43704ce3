-- Which object a deposit is of that names it by an identifier: a local identifier, unique within the institution, or an ARK. A row is
-- inserted with the submission, before there is an object; it is binding while a work item for the object is open, and once
-- the object is published.
CREATE TABLE object_ids (
    institution_id    UUID NOT NULL REFERENCES institutions (id),
    kind              TEXT COLLATE "C" NOT NULL CHECK (kind IN ('local', 'ark')),
    value             TEXT COLLATE "C" NOT NULL,
    object_identifier TEXT COLLATE "C" NOT NULL,
    created_at        BIGINT NOT NULL,
    PRIMARY KEY (institution_id, kind, value)
);
CREATE UNIQUE INDEX object_ids_of_arks ON object_ids (value) WHERE kind = 'ark';
CREATE INDEX object_ids_by_object ON object_ids (institution_id, object_identifier);

-- Paths of an object that the version of an open work item does not have any more. Gone when the item ends.
CREATE TABLE interim_removals (
    item_id UUID NOT NULL REFERENCES work_items (id),
    path    TEXT COLLATE "C" NOT NULL,
    file_id UUID NOT NULL,
    PRIMARY KEY (item_id, path)
);

-- What deposits say of an object besides what bags say. `layout` is 'bag' where its paths are those of a bag, else 'files'.
ALTER TABLE objects ADD COLUMN creator TEXT;
ALTER TABLE objects ADD COLUMN date TEXT;
ALTER TABLE objects ADD COLUMN layout TEXT;
-- ERC and Dublin Core, as JSON.
ALTER TABLE objects ADD COLUMN metadata TEXT;
