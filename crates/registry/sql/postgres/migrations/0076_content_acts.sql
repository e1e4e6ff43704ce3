-- What was done with content items of plain stores, and what was found of them: a row is added in the transaction that records the outcome, and
-- is never changed or removed. Rows stay for as long as the registry does: why a copy was deleted must be known for longer than the copy is
-- kept. A key without characters stands for the space.
CREATE SEQUENCE content_act_number;
CREATE TABLE content_acts (
    -- In the order in which they were written.
    id             BIGINT PRIMARY KEY DEFAULT nextval('content_act_number'),
    -- Whose rule it was; none for an event of what no rule copies.
    institution_id UUID REFERENCES institutions (id),
    time           BIGINT NOT NULL,
    act            TEXT COLLATE "C" NOT NULL CHECK (act IN ('copied', 'replaced', 'described', 'deleted', 'space_created', 'space_removed', 'equal', 'absent',
        'kept', 'lost', 'damaged', 'conflict', 'deletion_reported', 'deletion_ended')),
    -- As a PREMIS event: its type by the label of the Library of Congress, and its outcome.
    event_type     TEXT COLLATE "C" NOT NULL,
    outcome        TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('success', 'failure', 'warning')),
    -- Who acted, or reported.
    actor          TEXT COLLATE "C" NOT NULL,
    source         TEXT COLLATE "C" NOT NULL,
    -- None for an event that was reported of the source.
    destination    TEXT COLLATE "C",
    space          TEXT COLLATE "C" NOT NULL,
    key            TEXT COLLATE "C" NOT NULL,
    size           BIGINT,
    sha512         BYTEA,
    source_etag    TEXT COLLATE "C",
    -- What the destination had, and has by the act; of what was found: what was recorded, and what was found.
    etag_before    TEXT COLLATE "C",
    etag_after     TEXT COLLATE "C",
    -- The task in which it was done, the number of its attempt, and the version of the policy that applied.
    task_id        BIGINT,
    topic          TEXT COLLATE "C",
    attempt        BIGINT,
    policy_version BIGINT,
    -- The event of the source for which it was done, as it was reported.
    event_id       UUID,
    event_at       BIGINT,
    event_actor    TEXT COLLATE "C",
    event_reason   TEXT COLLATE "C",
    detail         TEXT COLLATE "C" NOT NULL
);
-- A space has the same name in both stores, so one index has the acts of a content item in whichever store it lies.
CREATE INDEX content_acts_of_item ON content_acts (space, key, id);
CREATE INDEX content_acts_by_time ON content_acts (institution_id, time, id);
CREATE FUNCTION content_acts_are_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'an act on a content item is never changed or removed'; END $$;
CREATE TRIGGER content_acts_are_append_only BEFORE UPDATE OR DELETE ON content_acts
FOR EACH ROW EXECUTE FUNCTION content_acts_are_append_only();
-- TRUNCATE fires no trigger of a row.
CREATE TRIGGER content_acts_are_not_truncated BEFORE TRUNCATE ON content_acts
FOR EACH STATEMENT EXECUTE FUNCTION content_acts_are_append_only();

-- Whether no task follows from a deletion: the watch of a folder saw so many that sweeps count them, and ask a person.
ALTER TABLE content_events ADD COLUMN left_to_sweep BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX content_events_deleted_lately ON content_events (store, space, recorded_at) WHERE kind = 'delete';
CREATE INDEX duplication_parts_allowed ON duplication_parts (route_id, allowed_to) WHERE allowed_to IS NOT NULL;
