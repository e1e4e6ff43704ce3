-- Who asked for `cancel_requested`; none where nothing is asked.
ALTER TABLE work_items ADD COLUMN requested_by TEXT;
-- Who acted, where it was no worker; none for lines of before.
ALTER TABLE item_history ADD COLUMN actor TEXT;
