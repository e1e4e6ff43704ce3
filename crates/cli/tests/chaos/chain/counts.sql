-- What is counted row by row of the list of an activity, beside the sums that the program keeps.

-- name: chain.counts
SELECT (SELECT count(*) FROM records WHERE list_id = ?1 AND state = 0) AS todo,
    (SELECT count(*) FROM records WHERE list_id = ?1 AND state = 1) AS processing,
    (SELECT count(*) FROM records WHERE list_id = ?1 AND state = 3) AS failed,
    (SELECT count(*) FROM records WHERE list_id = ?1 AND state = 4) AS cancelled,
    (SELECT CAST(coalesce(sum(open), 0) AS BIGINT) FROM record_chunks WHERE list_id = ?1) AS claimed

-- name: chain.slots
SELECT slot, sequence FROM record_slots WHERE list_id = ?1 ORDER BY slot

-- name: chain.processed
SELECT number FROM records WHERE list_id = ?1 AND state = 2 AND slot = ?2 AND sequence > ?3 ORDER BY sequence

-- name: chain.made
SELECT count(*) AS made FROM provenance WHERE activity_id = ?1 AND run = ?2 AND NOT invalidates
