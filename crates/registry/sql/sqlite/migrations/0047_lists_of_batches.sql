-- Lists of batches, and of what lists a batch has, that read no more than they show.
CREATE INDEX batches_by_institution ON batches (institution_id, id);
CREATE INDEX batches_by_collection ON batches (collection_id, id) WHERE collection_id IS NOT NULL;
-- It serves those whose list is open as well.
CREATE INDEX work_items_with_list ON work_items (batch_id, list_state) WHERE list_state IS NOT NULL;
DROP INDEX work_items_open_lists;
