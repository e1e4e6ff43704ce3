-- Items of a batch that a person has to review: as long as there is one, no item of the batch is removed.
CREATE INDEX work_items_of_batch_to_review ON work_items (batch_id) WHERE needs_review;
