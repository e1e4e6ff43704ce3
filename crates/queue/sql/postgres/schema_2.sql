-- The work item that a task is a stage of; none where it stands for itself.
ALTER TABLE task ADD COLUMN item_id UUID;
