-- What keeps the cost of a deposit from growing with the repository.

-- An object by its name, whoever asks: names begin with the institution and are the same for nobody else.
CREATE INDEX objects_by_identifier ON objects (identifier);

-- Every version of an object, the dropped ones too.
CREATE INDEX versions_by_object ON versions (object_id, generation, number);

-- Items that should have a task.
CREATE INDEX work_items_at_work ON work_items (id) WHERE status IN ('pending', 'started');

-- Whether a batch still has items of a status, without counting them.
CREATE INDEX work_items_by_batch_status ON work_items (batch_id, status) WHERE batch_id IS NOT NULL;
