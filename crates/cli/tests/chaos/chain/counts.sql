-- What is counted row by row of the list of an activity, beside the sums that the program keeps. Of the records that have no state, those up
-- to the number to which the list is claimed are being processed, and those behind it are to be processed.

-- name: chain.counts
SELECT (SELECT count(*) FROM record_states WHERE list_id = ?1 AND state = 0) + (
        SELECT count(*) FROM records JOIN record_cursors ON record_cursors.list_id = records.list_id
        WHERE records.list_id = ?1 AND number > claimed_to AND NOT has_state
    ) AS todo,
    (SELECT count(*) FROM record_states WHERE list_id = ?1 AND state = 1) + (
        SELECT count(*) FROM records JOIN record_cursors ON record_cursors.list_id = records.list_id
        WHERE records.list_id = ?1 AND number <= claimed_to AND NOT has_state AND NOT EXISTS (
            SELECT 1 FROM record_states
            WHERE record_states.list_id = records.list_id AND record_states.number = records.number
        )
    ) AS processing,
    (SELECT count(*) FROM record_states WHERE list_id = ?1 AND state = 3) AS failed,
    (SELECT count(*) FROM record_states WHERE list_id = ?1 AND state = 4) AS cancelled,
    (SELECT CAST(coalesce(sum(open), 0) AS BIGINT) FROM record_chunks WHERE list_id = ?1) AS claimed

-- name: chain.slots
SELECT slot, sequence FROM record_slots WHERE list_id = ?1 ORDER BY slot

-- name: chain.processed
SELECT number FROM record_states WHERE list_id = ?1 AND state = 2 AND slot = ?2 AND sequence > ?3 ORDER BY sequence

-- name: chain.made
SELECT count(*) AS made FROM provenance WHERE activity_id = ?1 AND run = ?2 AND NOT invalidates
