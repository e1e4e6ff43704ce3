-- Duplication policies.
-- list: duplication_policies.columns
version, deletes, reason, set_by, user_id, set_at, approved_by, approved_at

-- name: duplication_policies.newest
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 ORDER BY version DESC LIMIT 1

-- The newest version of each institution.
-- name: duplication_policies.newest_of_all
SELECT institution_id, {duplication_policies.columns} FROM duplication_policies p
WHERE version = (SELECT max(n.version) FROM duplication_policies n WHERE n.institution_id = p.institution_id) ORDER BY institution_id

-- name: duplication_policies.get
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 AND version = ?2

-- name: duplication_policies.document
SELECT document FROM duplication_policies WHERE institution_id = ?1 AND version = ?2

-- name: duplication_policies.list
SELECT {duplication_policies.columns} FROM duplication_policies WHERE institution_id = ?1 AND version > ?2
ORDER BY version LIMIT ?3

-- name: duplication_policies.insert
INSERT INTO duplication_policies (institution_id, version, deletes, reason, set_by, user_id, set_at, document)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: duplication_policies.approve
UPDATE duplication_policies SET approved_by = ?3, approved_at = ?4
WHERE institution_id = ?1 AND version = ?2 AND approved_at IS NULL

-- Routes.
-- list: duplication_routes.columns
r.id, r.institution_id, i.identifier AS institution_identifier, r.source, r.destination, r.space

-- name: duplication_routes.insert
INSERT INTO duplication_routes (id, institution_id, source, destination, space) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING

-- name: duplication_routes.find
SELECT {duplication_routes.columns} FROM duplication_routes r JOIN institutions i ON i.id = r.institution_id
WHERE r.institution_id = ?1 AND r.source = ?2 AND r.destination = ?3 AND r.space = ?4

-- name: duplication_routes.get
SELECT {duplication_routes.columns} FROM duplication_routes r JOIN institutions i ON i.id = r.institution_id WHERE r.id = ?1

-- The spaces of an institution between two stores, behind one.
-- name: duplication_routes.between
SELECT {duplication_routes.columns} FROM duplication_routes r JOIN institutions i ON i.id = r.institution_id
WHERE r.institution_id = ?1 AND r.source = ?2 AND r.destination = ?3 AND r.space > ?4 ORDER BY r.space LIMIT ?5

-- Content items of routes.
-- list: duplicated_items.columns
key, outcome, source_etag, destination_etag, source_revision, destination_revision, size, sha512, verified_at, recorded_at, detail

-- name: duplicated_items.get
SELECT {duplicated_items.columns} FROM duplicated_items WHERE route_id = ?1 AND key = ?2

-- name: duplicated_items.list
SELECT {duplicated_items.columns} FROM duplicated_items WHERE route_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3

-- The routes from other sources into the same space that brought what the destination has.
-- name: duplicated_items.brought_by
SELECT {duplication_routes.columns} FROM duplication_routes r JOIN duplicated_items d ON d.route_id = r.id
JOIN institutions i ON i.id = r.institution_id
WHERE r.destination = ?1 AND r.space = ?2 AND r.id <> ?3 AND d.key = ?4 AND d.outcome = 'equal' AND d.destination_etag = ?5
    AND r.source <> ?6

-- name: duplicated_items.put
INSERT INTO duplicated_items (route_id, {duplicated_items.columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT (route_id, key) DO UPDATE SET outcome = excluded.outcome, source_etag = excluded.source_etag,
    destination_etag = excluded.destination_etag, source_revision = excluded.source_revision,
    destination_revision = excluded.destination_revision, size = excluded.size, sha512 = excluded.sha512, verified_at = excluded.verified_at,
    recorded_at = excluded.recorded_at, detail = excluded.detail

-- How many are equal on a route, up to a limit.
-- name: duplicated_items.count_equal
SELECT count(*) AS items FROM (SELECT 1 FROM duplicated_items WHERE route_id = ?1 AND outcome = 'equal' LIMIT ?2) AS i

-- name: duplicated_items.remove
DELETE FROM duplicated_items WHERE route_id = ?1 AND key = ?2

-- Content items that are lost or damaged, in the order of their routes.
-- name: duplicated_items.in_trouble
SELECT d.key, d.outcome, d.source_etag, d.destination_etag, d.size, d.sha512, d.verified_at, d.recorded_at, d.detail, {duplication_routes.columns}
FROM duplicated_items d JOIN duplication_routes r ON r.id = d.route_id JOIN institutions i ON i.id = r.institution_id
WHERE d.outcome IN ('lost', 'damaged', 'conflict') AND (d.route_id, d.key) > (?1, ?2) ORDER BY d.route_id, d.key LIMIT ?3

-- The same of an institution.
-- name: duplicated_items.in_trouble_of
SELECT d.key, d.outcome, d.source_etag, d.destination_etag, d.size, d.sha512, d.verified_at, d.recorded_at, d.detail, {duplication_routes.columns}
FROM duplication_routes r JOIN duplicated_items d ON d.route_id = r.id JOIN institutions i ON i.id = r.institution_id
WHERE r.institution_id = ?4 AND d.outcome IN ('lost', 'damaged', 'conflict') AND (d.route_id, d.key) > (?1, ?2)
ORDER BY d.route_id, d.key LIMIT ?3

-- How many are on each route.
-- name: duplicated_items.count_in_trouble
SELECT l.outcome, l.items, {duplication_routes.columns}
FROM (SELECT route_id, outcome, count(*) AS items FROM duplicated_items WHERE outcome IN ('lost', 'damaged', 'conflict')
    GROUP BY route_id, outcome) AS l
JOIN duplication_routes r ON r.id = l.route_id JOIN institutions i ON i.id = r.institution_id
ORDER BY r.id, l.outcome

-- Events of content items.
-- list: content_events.columns
store, space, key, id, kind, happened_at, recorded_at, actor, reason, left_to_sweep

-- name: content_events.get
SELECT {content_events.columns} FROM content_events WHERE store = ?1 AND space = ?2 AND key = ?3

-- name: content_events.insert
INSERT INTO content_events ({content_events.columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING

-- name: content_events.replace
UPDATE content_events SET id = ?4, kind = ?5, happened_at = ?6, recorded_at = ?7, actor = ?8, reason = ?9, left_to_sweep = ?10
WHERE store = ?1 AND space = ?2 AND key = ?3 AND (happened_at < ?6 OR (happened_at = ?6 AND kind = 'delete' AND ?5 = 'put'))

-- How many deletions of content items in a space were recorded after a time.
-- name: content_events.count_deleted
SELECT count(*) AS deletions FROM content_events WHERE kind = 'delete' AND store = ?1 AND space = ?2 AND recorded_at > ?3 AND key > ''

-- How many of them were carried out on a route.
-- name: content_events.count_carried_out
SELECT count(*) AS deletions FROM content_events e
WHERE e.kind = 'delete' AND e.store = ?1 AND e.space = ?2 AND e.recorded_at > ?3 AND e.key > ''
    AND EXISTS (SELECT 1 FROM duplicated_items d WHERE d.route_id = ?4 AND d.key = e.key AND d.outcome = 'deleted')

-- The content item of a deletion was seen again: it was put after it.
-- name: content_events.supersede
UPDATE content_events SET kind = 'put' WHERE store = ?1 AND space = ?2 AND key = ?3 AND id = ?4 AND kind = 'delete'

-- Deletions in the source of a route that keeps its copies, of which nothing is recorded yet.
-- name: content_events.unseen
SELECT e.key FROM content_events e
WHERE e.kind = 'delete' AND e.store = ?1 AND e.space = ?2 AND e.key > ?3 AND e.recorded_at <= ?5
    AND NOT EXISTS (SELECT 1 FROM duplicated_items d WHERE d.route_id = ?4 AND d.key = e.key AND d.outcome IN ('deleted', 'kept'))
ORDER BY e.key LIMIT ?6

-- How many deletions in the source of a route were not carried out in its destination, up to a limit.
-- name: content_events.count_pending
SELECT count(*) AS deletions FROM (SELECT 1 FROM content_events e
    WHERE e.kind = 'delete' AND e.store = ?1 AND e.space = ?2 AND e.key > '' AND e.recorded_at <= ?5
        AND NOT EXISTS (SELECT 1 FROM duplicated_items d WHERE d.route_id = ?3 AND d.key = e.key AND d.outcome = 'deleted')
    LIMIT ?4) AS p

-- Deletions in the source of a route that were not carried out in its destination.
-- name: content_events.pending
SELECT e.key, e.recorded_at FROM content_events e
WHERE e.kind = 'delete' AND e.store = ?1 AND e.space = ?2 AND e.key > ?3 AND e.recorded_at <= ?5
    AND NOT EXISTS (SELECT 1 FROM duplicated_items d WHERE d.route_id = ?4 AND d.key = e.key AND d.outcome = 'deleted')
ORDER BY e.key LIMIT ?6

-- Acts on content items.
-- list: content_acts.columns
institution_id, time, act, event_type, outcome, actor, source, destination, space, key, size, sha512, source_etag, etag_before, etag_after,
    task_id, topic, attempt, policy_version, event_id, event_at, event_actor, event_reason, detail

-- name: content_acts.append
INSERT INTO content_acts ({content_acts.columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
    ?20, ?21, ?22, ?23, ?24)

-- Those of a content item in a store, behind one.
-- name: content_acts.of_item
SELECT a.id, (SELECT i.identifier FROM institutions i WHERE i.id = a.institution_id) AS institution_identifier, {content_acts.columns}
FROM content_acts a
WHERE a.space = ?2 AND a.key = ?3 AND (a.source = ?1 OR a.destination = ?1) AND a.id > ?4 ORDER BY a.id LIMIT ?5

-- The same of an institution.
-- name: content_acts.of_item_of
SELECT a.id, (SELECT i.identifier FROM institutions i WHERE i.id = a.institution_id) AS institution_identifier, {content_acts.columns}
FROM content_acts a
WHERE a.space = ?2 AND a.key = ?3 AND (a.source = ?1 OR a.destination = ?1) AND a.institution_id = ?6 AND a.id > ?4 ORDER BY a.id LIMIT ?5

-- What was done last with a space of a destination.
-- name: content_acts.last_of_space
SELECT act FROM content_acts WHERE space = ?2 AND key = '' AND destination = ?1 AND act IN ('space_created', 'space_removed')
ORDER BY id DESC LIMIT 1

-- Sweeps.
-- list: duplication_runs.columns
n.id, n.institution_id, i.identifier AS institution_identifier, n.number, n.policy_version, n.is_whole, n.started_by, n.started_at, n.ended_at

-- Until when deletions of a route were recorded that a person has allowed last.
-- name: duplication_parts.last_allowed
SELECT max(allowed_to) AS allowed_to FROM duplication_parts WHERE route_id = ?1 AND allowed_to IS NOT NULL

-- name: duplication_runs.insert
INSERT INTO duplication_runs (id, institution_id, policy_version, is_whole, started_by, started_at, number)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT coalesce(max(number), 0) + 1 FROM duplication_runs WHERE institution_id = ?2))

-- name: duplication_runs.get
SELECT {duplication_runs.columns} FROM duplication_runs n JOIN institutions i ON i.id = n.institution_id WHERE n.id = ?1

-- name: duplication_runs.newest
SELECT {duplication_runs.columns} FROM duplication_runs n JOIN institutions i ON i.id = n.institution_id
WHERE n.institution_id = ?1 ORDER BY n.number DESC LIMIT 1

-- name: duplication_runs.open
SELECT {duplication_runs.columns} FROM duplication_runs n JOIN institutions i ON i.id = n.institution_id
WHERE n.institution_id = ?1 AND n.ended_at IS NULL

-- name: duplication_runs.list
SELECT {duplication_runs.columns} FROM duplication_runs n JOIN institutions i ON i.id = n.institution_id
WHERE n.institution_id = ?1 AND n.number < ?2 ORDER BY n.number DESC LIMIT ?3

-- name: duplication_runs.end
UPDATE duplication_runs SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM duplication_parts p WHERE p.run_id = ?1 AND p.phase NOT IN ('done', 'failed', 'dropped'))

-- What a newer sweep does anew.
-- name: duplication_runs.drop_held
UPDATE duplication_parts SET phase = 'done' WHERE run_id = ?1 AND phase = 'held'

-- name: duplication_runs.totals
SELECT count(*) AS parts, CAST(coalesce(sum(listed), 0) AS BIGINT) AS listed, CAST(coalesce(sum(queued), 0) AS BIGINT) AS queued, CAST(coalesce(sum(equal), 0) AS BIGINT) AS equal,
    CAST(coalesce(sum(ignored), 0) AS BIGINT) AS ignored, CAST(coalesce(sum(failed), 0) AS BIGINT) AS failed, CAST(coalesce(sum(deletions), 0) AS BIGINT) AS deletions,
    CAST(coalesce(sum(CASE WHEN phase IN ('held', 'copies') THEN held ELSE 0 END), 0) AS BIGINT) AS held,
    count(CASE WHEN phase = 'failed' OR error IS NOT NULL THEN 1 END) AS failed_parts,
    count(CASE WHEN phase NOT IN ('done', 'failed', 'dropped', 'held') THEN 1 END) AS open_parts
FROM duplication_parts WHERE run_id = ?1

-- name: duplication_runs.institutions
SELECT DISTINCT institution_id FROM duplication_policies ORDER BY institution_id

-- Parts of sweeps.
-- list: duplication_parts.columns
p.run_id, p.phase, p.reached, p.listed, p.queued, p.equal, p.ignored, p.failed, p.deletions, p.held, p.allowed_to, p.attempts, p.error,
    p.turn_at, p.lease_id, p.fence

-- name: duplication_parts.insert
INSERT INTO duplication_parts (run_id, route_id, phase, reached, listed, queued, equal, ignored, failed, deletions, held, attempts, turn_at, fence)
VALUES (?1, ?2, ?3, '', 0, 0, 0, 0, 0, 0, 0, 0, ?4, 0) ON CONFLICT DO NOTHING

-- The part that no process works on and that had its turn the longest ago. Times further ahead than any may be were given by a clock
-- that was ahead.
-- name: duplication_parts.next
SELECT {duplication_parts.columns}, {duplication_routes.columns}
FROM duplication_parts p JOIN duplication_routes r ON r.id = p.route_id JOIN institutions i ON i.id = r.institution_id
WHERE p.phase IN ('spaces', 'deletions', 'copies', 'allowed') AND (p.turn_at <= ?1 OR p.turn_at > ?2)
    AND (p.lease_until IS NULL OR p.lease_until < ?1 OR p.lease_until > ?2)
ORDER BY p.turn_at, p.run_id, p.route_id LIMIT 1

-- name: duplication_parts.list
SELECT {duplication_parts.columns}, {duplication_routes.columns}
FROM duplication_parts p JOIN duplication_routes r ON r.id = p.route_id JOIN institutions i ON i.id = r.institution_id
WHERE p.run_id = ?1 AND p.route_id > ?2 ORDER BY p.route_id LIMIT ?3

-- name: duplication_parts.get
SELECT {duplication_parts.columns}, {duplication_routes.columns}
FROM duplication_parts p JOIN duplication_routes r ON r.id = p.route_id JOIN institutions i ON i.id = r.institution_id
WHERE p.run_id = ?1 AND p.route_id = ?2

-- name: duplication_parts.take
UPDATE duplication_parts SET lease_until = ?4, holder = ?5, lease_id = ?6, fence = fence + 1 WHERE run_id = ?1 AND route_id = ?2 AND fence = ?3

-- Parts that were set aside are tried now.
-- name: duplication_parts.hasten
UPDATE duplication_parts SET turn_at = ?2 WHERE run_id = ?1 AND attempts > 0 AND turn_at > ?2
    AND phase IN ('spaces', 'deletions', 'copies', 'allowed')

-- name: duplication_parts.extend
UPDATE duplication_parts SET lease_until = ?4 WHERE run_id = ?1 AND route_id = ?2 AND lease_id = ?3 AND lease_until IS NOT NULL

-- name: duplication_parts.holders
SELECT DISTINCT holder FROM duplication_parts
WHERE phase IN ('spaces', 'deletions', 'copies', 'allowed') AND lease_until IS NOT NULL AND holder IS NOT NULL

-- name: duplication_parts.let_go
UPDATE duplication_parts SET lease_until = NULL, fence = fence + 1
WHERE phase IN ('spaces', 'deletions', 'copies', 'allowed') AND lease_until IS NOT NULL AND holder = ?1

-- name: duplication_parts.advance
UPDATE duplication_parts SET phase = ?4, reached = ?5, listed = ?6, queued = ?7, equal = ?8, ignored = ?9, failed = ?10, deletions = ?11,
    held = ?12, attempts = ?13, error = ?14, turn_at = ?15, lease_until = ?16, fence = fence + 1
WHERE run_id = ?1 AND route_id = ?2 AND fence = ?3

-- Deletions that waited for a person were carried out since, by their events.
-- name: duplication_parts.release
UPDATE duplication_parts SET phase = 'done', held = 0, fence = fence + 1 WHERE run_id = ?1 AND route_id = ?2 AND phase = 'held'

-- name: duplication_parts.allow
UPDATE duplication_parts SET allowed_to = ?2, phase = CASE WHEN phase = 'held' THEN 'allowed' ELSE phase END, turn_at = ?2, reached =
    CASE WHEN phase = 'held' THEN '' ELSE reached END, fence = fence + 1, lease_until = NULL, lease_id = NULL
WHERE run_id = ?1 AND held > 0 AND phase IN ('held', 'copies')

-- Parts that failed or wait for a person, of runs that are the newest of their institutions or are open.
-- name: duplication_parts.in_trouble
SELECT {duplication_parts.columns}, {duplication_routes.columns}
FROM duplication_parts p JOIN duplication_routes r ON r.id = p.route_id JOIN institutions i ON i.id = r.institution_id
WHERE p.run_id = ?1 AND (p.phase IN ('failed', 'held') OR p.error IS NOT NULL) AND p.route_id > ?2 ORDER BY p.route_id LIMIT ?3
