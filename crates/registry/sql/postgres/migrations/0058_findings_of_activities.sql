-- Which activities have found something: each of them, also where a later one finds it again. A row for each finding of each activity, which
-- stays as long as these do.
CREATE TABLE findings_of_activities (
    activity_id UUID NOT NULL,
    finding_id  UUID NOT NULL,
    PRIMARY KEY (activity_id, finding_id)
);
INSERT INTO findings_of_activities (activity_id, finding_id)
SELECT activity_id, id FROM tool_findings WHERE activity_id IS NOT NULL;

-- Work items that wait for a tool, which are few.
CREATE INDEX work_items_for_tools ON work_items (id) WHERE wait_reason = 'tool';
