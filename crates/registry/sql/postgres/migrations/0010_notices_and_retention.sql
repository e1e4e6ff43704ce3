-- An upload counts as warned of only once the notice was delivered: what was put into the outbox before was read by nothing.
UPDATE uploads SET warned_at = NULL WHERE state = 'invalid';

-- What the deliverer of a kind of message reads.
CREATE INDEX outbox_undelivered ON outbox (kind, id) WHERE delivered_at IS NULL;
-- What ends after its retention, and what keeps an ended work item.
CREATE INDEX receipts_by_time ON receipts (made_at);
CREATE INDEX receipts_by_item ON receipts (item_id);

-- Later deposits of an object: whether one put right what an earlier one failed at.
CREATE INDEX work_items_by_identifier ON work_items (institution_id, object_identifier, id);

-- An upload whose collection takes no deposits is refused.
ALTER TABLE uploads DROP CONSTRAINT uploads_state_check;
ALTER TABLE uploads ADD CONSTRAINT uploads_state_check CHECK (state IN ('settling', 'not_a_bag', 'refused', 'submitted',
    'known', 'published', 'failed', 'invalid', 'cancelled', 'removing', 'removed', 'withdrawn'));
