-- Why `cancel_requested` was asked for; none where nothing is asked, or no reason was given.
ALTER TABLE work_items ADD COLUMN request_reason TEXT COLLATE "C";
