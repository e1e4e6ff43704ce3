-- Giving tasks to those who work on them, and keeping them there.

-- name: queue_last_lease
SELECT max(lease_until) AS lease_until FROM task WHERE state = 2

-- name: queue_paused
SELECT paused FROM topic WHERE name IN (?1, ?2) ORDER BY paused DESC LIMIT 1
