-- Activities, pipelines and watermarks.

-- list: activities.columns
a.id, a.agent, a.options, a.institution_id, a.state, a.run, a.list_id, a.previous_list_id, a.is_rebuilding, a.input,
    a.input_activity_id, a.input_list_id, a.takes_results, a.watermark, a.watermark_from, a.watermark_to, a.pipeline_id,
    a.pipeline_run, a.step, a.made_at, a.started_at, a.resumed_at, a.ended_before, a.ended_at, a.changed_at, a.error, a.attempt_error, r.kind AS actor_kind,
    coalesce(r.user_name, r.name) AS actor_name, r.account AS actor_account, r.api_key AS actor_key
-- list: activities.tables
activities a JOIN actors r ON r.id = a.actor_id
-- list: pipelines.columns
id, institution_id, name, steps, runs, made_at, changed_at

-- name: activities.insert
INSERT INTO activities (id, agent, options, institution_id, actor_id, state, list_id, input, input_activity_id,
    input_list_id, takes_results, watermark, watermark_from, pipeline_id, pipeline_run, step, made_at, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16)

-- name: activities.lock
UPDATE activities SET changed_at = changed_at WHERE id = ?1

-- name: activities.of_list
SELECT {activities.columns} FROM {activities.tables} WHERE a.list_id = ?1

-- name: activities.followers
SELECT {activities.columns} FROM {activities.tables}
WHERE a.input_activity_id = ?1 AND a.id > ?2 ORDER BY a.id LIMIT ?3

-- name: activities.count_in_state
SELECT count(*) AS activities FROM (SELECT 1 FROM activities WHERE state = ?1 LIMIT ?2) AS found

-- name: activities.in_state
SELECT {activities.columns} FROM {activities.tables} WHERE a.state = ?1 ORDER BY a.id DESC LIMIT ?2

-- name: activities.behind
-- Those that follow one in this state, which is failed or paused, and those that follow them.
WITH RECURSIVE stuck (id, list_id) AS (
    SELECT id, list_id FROM activities WHERE state = ?1
    UNION
    SELECT a.id, a.list_id FROM stuck JOIN activities a ON a.input_activity_id = stuck.id
    WHERE a.input = 'follow' AND a.input_list_id = stuck.list_id AND a.state IN ('queued', 'populating', 'running')
)
SELECT a.id FROM activities a JOIN stuck ON stuck.id = a.id WHERE a.state <> ?1 ORDER BY a.id DESC LIMIT ?2

-- name: activities.tried_again
SELECT {activities.columns} FROM {activities.tables} WHERE a.attempt_error IS NOT NULL ORDER BY a.id DESC LIMIT ?1

-- name: activities.set_attempt_error
UPDATE activities SET attempt_error = ?2 WHERE id = ?1 AND state IN ('queued', 'populating', 'running')

-- name: activities.clear_attempt_error
UPDATE activities SET attempt_error = NULL WHERE id = ?1 AND attempt_error IS NOT NULL

-- name: activities.of_pipeline_run
SELECT {activities.columns} FROM {activities.tables} WHERE a.pipeline_id = ?1 AND a.pipeline_run = ?2 ORDER BY a.step

-- name: activities.set_state
UPDATE activities SET state = ?2, started_at = ?3, resumed_at = ?4, ended_before = ?5, ended_at = ?6, error = ?7,
    changed_at = ?8, attempt_error = NULL
WHERE id = ?1

-- name: activities.set_list
UPDATE activities SET run = ?2, list_id = ?3, previous_list_id = ?4, is_rebuilding = ?5, input_list_id = ?6 WHERE id = ?1

-- name: activities.set_watermark_to
UPDATE activities SET watermark_to = ?2 WHERE id = ?1

-- name: pipelines.insert
INSERT INTO pipelines (id, institution_id, name, steps, actor_id, made_at, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)

-- name: pipelines.set_steps
UPDATE pipelines SET steps = ?2, changed_at = ?3 WHERE id = ?1

-- name: pipelines.get
SELECT {pipelines.columns} FROM pipelines WHERE id = ?1

-- name: pipelines.begin_run
UPDATE pipelines SET runs = runs + 1 WHERE id = ?1 RETURNING runs, steps

-- name: watermarks.get
SELECT value, activity_id, set_at FROM watermarks WHERE id = ?1

-- name: watermarks.set
INSERT INTO watermarks (id, institution_id, name, value, activity_id, set_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET value = excluded.value, activity_id = excluded.activity_id, set_at = excluded.set_at

-- name: documents.insert
INSERT INTO documents (id, institution_id, source, part, record, media_type, datestamp, bytes, made_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
-- The time after which it is removed begins anew, once a day at most.
ON CONFLICT (id) DO UPDATE SET made_at = excluded.made_at WHERE documents.made_at < excluded.made_at - 86400000000

-- name: documents.get
SELECT id, institution_id, source, part, record, media_type, datestamp, bytes FROM documents WHERE id = ?1

-- name: documents.size
SELECT length(bytes) AS bytes FROM documents WHERE id = ?1

-- name: documents.drop
DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE made_at < ?1 ORDER BY made_at LIMIT ?2)
