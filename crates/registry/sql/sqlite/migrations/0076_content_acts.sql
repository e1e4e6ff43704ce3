-- What was done with content items of plain stores, and what was found of them: a row is added in the transaction that records the outcome, and
-- is never changed or removed. Rows stay for as long as the registry does: why a copy was deleted must be known for longer than the copy is
-- kept. A key without characters stands for the space.
CREATE TABLE content_acts (
    -- In the order in which they were written.
    id             INTEGER PRIMARY KEY,
    -- Whose rule it was; none for an event of what no rule copies.
    institution_id BLOB REFERENCES institutions (id),
    time           INTEGER NOT NULL,
    act            TEXT NOT NULL CHECK (act IN ('copied', 'replaced', 'described', 'deleted', 'space_created', 'space_removed', 'equal', 'absent',
        'kept', 'lost', 'damaged', 'conflict', 'deletion_reported', 'deletion_ended')),
    -- As a PREMIS event: its type by the label of the Library of Congress, and its outcome.
    event_type     TEXT NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'warning')),
    -- Who acted, or reported.
    actor          TEXT NOT NULL,
    source         TEXT NOT NULL,
    -- None for an event that was reported of the source.
    destination    TEXT,
    space          TEXT NOT NULL,
    key            TEXT NOT NULL,
    size           INTEGER,
    sha512         BLOB,
    source_etag    TEXT,
    -- What the destination had, and has by the act; of what was found: what was recorded, and what was found.
    etag_before    TEXT,
    etag_after     TEXT,
    -- The task in which it was done, the number of its attempt, and the version of the policy that applied.
    task_id        INTEGER,
    topic          TEXT,
    attempt        INTEGER,
    policy_version INTEGER,
    -- The event of the source for which it was done, as it was reported.
    event_id       BLOB,
    event_at       INTEGER,
    event_actor    TEXT,
    event_reason   TEXT,
    detail         TEXT NOT NULL
) STRICT;
-- A space has the same name in both stores, so one index has the acts of a content item in whichever store it lies.
CREATE INDEX content_acts_of_item ON content_acts (space, key, id);
CREATE INDEX content_acts_by_time ON content_acts (institution_id, time, id);
CREATE TRIGGER content_acts_are_not_changed BEFORE UPDATE ON content_acts
BEGIN SELECT RAISE(ABORT, 'an act on a content item is never changed'); END;
CREATE TRIGGER content_acts_are_not_removed BEFORE DELETE ON content_acts
BEGIN SELECT RAISE(ABORT, 'an act on a content item is never removed'); END;
-- INSERT OR REPLACE fires no trigger for the row that it removes.
CREATE TRIGGER content_acts_are_not_replaced BEFORE INSERT ON content_acts WHEN EXISTS (SELECT 1 FROM content_acts WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'an act on a content item is never changed'); END;

-- The number of the next: a sequence in PostgreSQL, which is set by this where the registry is moved there.
CREATE VIEW content_act_number AS SELECT coalesce(max(id), 0) + 1 AS next FROM content_acts;

-- Whether no task follows from a deletion: the watch of a folder saw so many that sweeps count them, and ask a person.
ALTER TABLE content_events ADD COLUMN left_to_sweep INTEGER NOT NULL DEFAULT 0;
CREATE INDEX content_events_deleted_lately ON content_events (store, space, recorded_at) WHERE kind = 'delete';
CREATE INDEX duplication_parts_allowed ON duplication_parts (route_id, allowed_to) WHERE allowed_to IS NOT NULL;
