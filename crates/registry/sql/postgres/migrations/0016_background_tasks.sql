-- How the runs of a background task ended. `last_elapsed`: microseconds that the last run took. `result`: what the last run
-- that ended well did. `error`, `error_since`: why the last run failed, and when the first of the failures in a row was.
-- `wanted_at`: when a run was asked for while one was under way.
ALTER TABLE schedules ADD COLUMN last_started_at BIGINT;
ALTER TABLE schedules ADD COLUMN last_elapsed BIGINT;
ALTER TABLE schedules ADD COLUMN result TEXT;
ALTER TABLE schedules ADD COLUMN error TEXT;
ALTER TABLE schedules ADD COLUMN error_since BIGINT;
ALTER TABLE schedules ADD COLUMN wanted_at BIGINT;
