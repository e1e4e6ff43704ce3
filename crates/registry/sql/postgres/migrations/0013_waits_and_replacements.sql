-- What a work item waits for; its note says it for people.
ALTER TABLE work_items ADD COLUMN wait_reason TEXT;
UPDATE work_items SET wait_reason = CASE
    WHEN note LIKE 'waits for the older deposit %' THEN 'older_deposit'
    WHEN note LIKE 'waits for other work on the same object%' THEN 'object'
    WHEN note LIKE 'waits for store %' THEN 'store'
    WHEN note LIKE 'waits for % files to be thawed in %' THEN 'retrieval'
    WHEN note LIKE 'waits for % bytes of room in staging' THEN 'staging_space'
    ELSE 'other'
END WHERE status = 'pending' AND note LIKE 'waits%';

-- What the repair of a finding waits for; its detail says it for people.
ALTER TABLE findings ADD COLUMN wait_reason TEXT;
UPDATE findings SET wait_reason = 'retrieval'
WHERE state = 'open' AND detail LIKE '%waits for its copy to be thawed in store %';

-- Messages in the order in which their retention ends: those that no delivery waits for.
CREATE INDEX outbox_by_time ON outbox (created_at) WHERE delivered_at IS NOT NULL OR kind <> 'upload_expires';
-- What is open is counted by store and kind.
CREATE INDEX findings_unsolved ON findings (store, kind) WHERE state <> 'repaired';

-- The store that takes the place of the one recorded, while what lay in that one is taken out of the registry.
ALTER TABLE stores ADD COLUMN replacing_id UUID;

-- Objects whose logs in one store could not be read when they were to be copied into another.
CREATE TABLE unread_logs (
    holder    TEXT COLLATE "C" NOT NULL,
    store     TEXT COLLATE "C" NOT NULL,
    object_id UUID NOT NULL REFERENCES objects (id),
    noted_at  BIGINT NOT NULL,
    PRIMARY KEY (holder, store, object_id)
);
