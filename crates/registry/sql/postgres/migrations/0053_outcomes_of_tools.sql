-- What tools find in documents as well as in files, and which activity found it last.
ALTER TABLE tool_findings ALTER COLUMN object_id DROP NOT NULL;
ALTER TABLE tool_findings ALTER COLUMN file_id DROP NOT NULL;
ALTER TABLE tool_findings ALTER COLUMN content_id DROP NOT NULL;
-- A document with the record that it was made of, in the place of a file.
ALTER TABLE tool_findings ADD COLUMN document_id UUID;
ALTER TABLE tool_findings ADD COLUMN record TEXT;
-- None where that is not known.
ALTER TABLE tool_findings ADD COLUMN activity_id UUID;

-- How many files and documents a tool has passed and failed in a run of an activity: the sums over slots, so that workers wait less for
-- each other.
CREATE TABLE tool_outcomes (
    activity_id UUID   NOT NULL,
    run         BIGINT NOT NULL,
    slot        BIGINT NOT NULL,
    passed      BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    PRIMARY KEY (activity_id, run, slot)
);

-- When workers went on with the run last, and how many of its records had ended by then.
ALTER TABLE activities ADD COLUMN resumed_at BIGINT;
ALTER TABLE activities ADD COLUMN ended_before BIGINT NOT NULL DEFAULT 0;
