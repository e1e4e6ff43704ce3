-- The columns of a request with the names of those who acted, and the tables that they are of.
-- list: deletion_requests.columns
r.id, r.institution_id, i.identifier AS institution_identifier, r.name, r.state, r.reason, r.objects, r.files, r.bytes,
    r.requested_by, coalesce(q.user_name, q.name) AS requested_name, r.requested_account, r.requested_at, r.expires_at,
    r.approved_by, coalesce(a.user_name, a.name) AS approved_name, r.approved_account, r.approved_at, r.approval_note, r.approval_token,
    r.closed_by, coalesce(c.user_name, c.name) AS closed_name, r.closed_account, r.closed_at, r.closing_reason, r.batch_id, r.ended_at, r.ends
-- list: deletion_requests.tables
deletion_requests r JOIN institutions i ON i.id = r.institution_id JOIN actors q ON q.id = r.requested_actor
    LEFT JOIN actors a ON a.id = r.approved_actor LEFT JOIN actors c ON c.id = r.closed_actor
-- name: deletion_requests.begin_draft
INSERT INTO deletion_drafts (request_id, made_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING
-- name: deletion_requests.end_draft
DELETE FROM deletion_drafts WHERE request_id = ?1 RETURNING request_id
-- name: deletion_requests.old_drafts
SELECT request_id FROM deletion_drafts WHERE made_at < ?1 ORDER BY made_at LIMIT ?2
-- name: deletion_requests.put_target
INSERT INTO deletion_targets (request_id, object_id, target_id, path, generation, version)
VALUES (?1, ?2, ?3, ?4, (SELECT o.generation FROM objects o WHERE o.id = ?2), (SELECT o.head FROM objects o WHERE o.id = ?2))
ON CONFLICT DO NOTHING
-- name: deletion_requests.drop_targets
DELETE FROM deletion_targets WHERE request_id = ?1 AND (object_id, target_id) IN (SELECT t.object_id, t.target_id
    FROM deletion_targets t WHERE t.request_id = ?1 AND NOT EXISTS (SELECT 1 FROM deletion_requests r WHERE r.id = ?1) LIMIT ?2)
-- name: deletion_requests.count_targets
SELECT count(DISTINCT t.object_id) AS objects, count(t.path) AS files FROM deletion_targets t WHERE t.request_id = ?1
-- What goes by what a request names: files of an object that is named as a whole, and each other file, as the newest version has it.
-- name: deletion_requests.totals
SELECT CAST(coalesce(sum(CASE WHEN t.path IS NULL THEN o.files ELSE 1 END), 0) AS BIGINT) AS files,
    CAST(coalesce(sum(CASE WHEN t.path IS NULL THEN o.bytes ELSE coalesce((SELECT c.size FROM entries e
        JOIN contents c ON c.id = e.content_id WHERE e.file_id = t.target_id AND e.generation = o.generation AND e.version <= o.head
        ORDER BY e.version DESC LIMIT 1), 0) END), 0) AS BIGINT) AS bytes
FROM deletion_targets t JOIN objects o ON o.id = t.object_id
WHERE t.request_id = ?1 AND (t.path IS NULL OR NOT EXISTS (SELECT 1 FROM deletion_targets w
    WHERE w.request_id = t.request_id AND w.object_id = t.object_id AND w.path IS NULL))
-- name: deletion_requests.count_rows
SELECT count(*) AS row_count FROM deletion_targets t WHERE t.request_id = ?1
-- An object of which more files are named by themselves than may be.
-- name: deletion_requests.most_files
SELECT o.identifier, count(t.path) AS files FROM deletion_targets t JOIN objects o ON o.id = t.object_id
WHERE t.request_id = ?1 GROUP BY t.object_id, o.identifier HAVING count(t.path) > ?2 LIMIT 1
-- The actors of a user: each by what the user acted by, such as an account of the operating system.
-- name: deletion_requests.actors_of_user
SELECT a.id FROM actors a WHERE a.kind = 'user' AND a.name = ?1
UNION SELECT a.id FROM actors a WHERE a.kind = 'user' AND a.user_name = ?1
-- What an actor did with the account of a user, or with how that one signs in.
-- name: deletion_requests.has_changed_user
SELECT 1 AS found FROM journal j
WHERE j.actor_id = ?1 AND j.target = ?2 AND j.time >= ?3 AND j.outcome = 'done'
    AND (j.act LIKE 'users.%' OR j.act LIKE 'second_factors.%') LIMIT 1
-- The users who made a user, or changed what it may do, since a time.
-- name: deletion_requests.granters
SELECT DISTINCT g.by_user_id FROM role_grants g WHERE g.user_id = ?1 AND g.granted_at >= ?2 AND g.by_user_id IS NOT NULL
-- The file of an object that has a path in any version which readers see.
-- name: deletion_requests.file_at
SELECT f.id FROM files f JOIN objects o ON o.id = f.object_id
WHERE f.object_id = ?1 AND f.path = ?2 AND EXISTS (SELECT 1 FROM entries e
    WHERE e.file_id = f.id AND e.generation = o.generation AND e.version <= o.head AND e.content_id IS NOT NULL)
-- What a request names and another open one names as well: the object as a whole, or the same file.
-- name: deletion_requests.conflicts
SELECT o.identifier, t.path, r.id AS request_id
FROM deletion_targets t
JOIN deletion_targets u ON u.object_id = t.object_id AND u.request_id <> t.request_id
    AND (u.target_id = t.target_id OR u.target_id = u.object_id OR t.target_id = t.object_id)
JOIN deletion_requests r ON r.id = u.request_id AND r.state IN ('requested', 'approved')
JOIN objects o ON o.id = t.object_id
WHERE t.request_id = ?1 ORDER BY t.object_id, t.target_id LIMIT ?2
-- name: deletion_requests.insert
INSERT INTO deletion_requests (id, institution_id, name, state, reason, objects, files, bytes, requested_by,
    requested_actor, requested_account, requested_at, expires_at)
VALUES (?1, ?2, ?3, 'requested', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
-- name: deletion_requests.approve
UPDATE deletion_requests SET state = 'approved', approved_by = ?2, approved_actor = ?3, approved_account = ?4,
    approved_at = ?5, approval_note = ?6, approval_token = ?7, batch_id = ?8
WHERE id = ?1 AND state = 'requested' AND expires_at > ?5
RETURNING id
-- name: deletion_requests.deny
UPDATE deletion_requests SET state = 'denied', closed_by = ?2, closed_actor = ?3, closed_account = ?4, closed_at = ?5,
    closing_reason = ?6
WHERE id = ?1 AND state = 'requested' AND expires_at > ?5
RETURNING id
-- name: deletion_requests.cancel
UPDATE deletion_requests SET state = 'cancelled', closed_by = ?2, closed_actor = ?3, closed_account = ?4, closed_at = ?5,
    closing_reason = ?6
WHERE id = ?1 AND (state = 'approved' OR (state = 'requested' AND expires_at > ?5))
RETURNING id
-- name: deletion_requests.expire
UPDATE deletion_requests SET state = 'expired', closed_at = ?2 WHERE id = ?1 AND state = 'requested' AND expires_at <= ?2
RETURNING id
-- name: deletion_requests.overdue
SELECT r.id FROM deletion_requests r WHERE r.state = 'requested' AND r.expires_at <= ?1 ORDER BY r.expires_at LIMIT ?2
-- name: deletion_requests.count_requested
SELECT count(*) AS requests FROM deletion_requests r WHERE r.state = 'requested' AND r.expires_at > ?1
-- name: deletion_requests.at_work
SELECT r.id FROM deletion_requests r WHERE r.state = 'approved' AND r.id > ?1 ORDER BY r.id LIMIT ?2
-- name: deletion_requests.of_batch
SELECT r.id FROM deletion_requests r WHERE r.batch_id = ?1
-- name: deletion_requests.end
UPDATE deletion_requests SET state = ?2, ended_at = ?3, ends = ends + 1, told_at = NULL,
    closed_at = CASE WHEN ?2 = 'cancelled' THEN ?3 ELSE closed_at END
WHERE id = ?1 AND state = 'approved'
RETURNING id
-- What failed is done again: the request is approved as it was.
-- name: deletion_requests.resume
UPDATE deletion_requests SET state = 'approved', ended_at = NULL, told_at = NULL WHERE id = ?1 AND state = 'failed'
-- name: deletion_requests.untold
SELECT r.id FROM deletion_requests r WHERE r.ended_at IS NOT NULL AND r.told_at IS NULL AND r.id > ?1 ORDER BY r.id LIMIT ?2
-- name: deletion_requests.set_told
UPDATE deletion_requests SET told_at = ?3 WHERE id = ?1 AND ends = ?2 AND ended_at IS NOT NULL AND told_at IS NULL
RETURNING id
-- What became of the items of a batch; one that was put away counts as what it was before.
-- name: deletion_requests.count_items
SELECT coalesce(w.deleted_from, w.status) AS status, w.is_committed AS is_begun, count(*) AS items
FROM work_items w {items.by_batch} WHERE w.batch_id = ?1 AND w.action <> 'delete_batch'
GROUP BY coalesce(w.deleted_from, w.status), w.is_committed
-- name: deletion_requests.has_open_items
SELECT 1 AS found FROM work_items w {items.by_batch}
WHERE w.batch_id = ?1 AND w.status IN ('pending', 'started', 'held') LIMIT 1
-- The objects without work items, with whether all of each is named.
-- name: deletion_requests.unmade
SELECT DISTINCT t.object_id, o.identifier, o.collection_id, o.bytes, EXISTS (SELECT 1 FROM deletion_targets x
    WHERE x.request_id = t.request_id AND x.object_id = t.object_id AND x.target_id = t.object_id) AS is_whole
FROM deletion_targets t JOIN objects o ON o.id = t.object_id
WHERE t.request_id = ?1 AND t.item_id IS NULL AND t.object_id > ?2 ORDER BY t.object_id LIMIT ?3
-- name: deletion_requests.set_item
UPDATE deletion_targets SET item_id = ?3 WHERE request_id = ?1 AND object_id = ?2
-- name: deletion_requests.targets
SELECT t.object_id, t.target_id, o.identifier, t.path, t.item_id, w.status, w.stage, w.note
FROM deletion_targets t JOIN objects o ON o.id = t.object_id LEFT JOIN work_items w ON w.id = t.item_id
WHERE t.request_id = ?1 AND (t.object_id, t.target_id) > (?2, ?3) ORDER BY t.object_id, t.target_id LIMIT ?4
-- name: deletion_requests.files
SELECT t.target_id AS file_id, t.path FROM deletion_targets t
WHERE t.request_id = ?1 AND t.object_id = ?2 AND t.target_id > ?3 AND t.path IS NOT NULL ORDER BY t.target_id LIMIT ?4
-- name: deletion_requests.open_of_object
SELECT r.id FROM deletion_targets t JOIN deletion_requests r ON r.id = t.request_id
WHERE t.object_id = ?1 AND r.state IN ('requested', 'approved') ORDER BY r.id LIMIT 1
-- name: deletion_tokens.insert
INSERT INTO deletion_tokens (id, digest, request_id, user_id, issued_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
-- name: deletion_tokens.get
SELECT t.digest, t.request_id, t.user_id, t.issued_at, t.expires_at, t.ended_at FROM deletion_tokens t WHERE t.id = ?1
-- name: deletion_tokens.end
UPDATE deletion_tokens SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL RETURNING id
-- name: deletion_tokens.end_of_user
UPDATE deletion_tokens SET ended_at = ?3 WHERE request_id = ?1 AND user_id = ?2 AND ended_at IS NULL
-- name: deletion_tokens.end_of_request
UPDATE deletion_tokens SET ended_at = ?2 WHERE request_id = ?1 AND ended_at IS NULL
-- Whether what a request names of an object was deposited again since.
-- name: deletion_requests.changed
SELECT t.version, o.head FROM deletion_targets t JOIN objects o ON o.id = t.object_id
WHERE t.request_id = ?1 AND t.object_id = ?2 AND (t.generation <> o.generation OR (t.path IS NULL AND t.version <> o.head)
    OR (t.path IS NOT NULL AND EXISTS (SELECT 1 FROM entries e WHERE e.file_id = t.target_id AND e.generation = o.generation
        AND e.version > t.version AND e.version <= o.head))) LIMIT 1
