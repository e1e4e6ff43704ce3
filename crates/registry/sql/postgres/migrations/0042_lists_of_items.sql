-- Lists and counts of work items that read no more than they show, however many items there are.

-- By institution; with the status as well; and to be counted by collection and status.
CREATE INDEX work_items_by_institution ON work_items (institution_id, id);
CREATE INDEX work_items_by_institution_status ON work_items (institution_id, status, id);
CREATE INDEX work_items_by_collection ON work_items (institution_id, collection_id, status);

-- Few actions are other ones than ingest, and few items ask for review.
CREATE INDEX work_items_by_action ON work_items (action, id);
CREATE INDEX work_items_to_review ON work_items (id) WHERE needs_review;

-- Since a time.
CREATE INDEX work_items_by_time ON work_items (created_at, id);
