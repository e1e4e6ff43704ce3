-- Lists of work items, page by page: of each page first the identifiers, found in the index of what the list is asked for most narrowly, then the
-- items.
--
-- What every list is given: 1 where it goes on, 2 the institution, 3 the status, 4 the stage, 5 the action, 6 whether review is asked for, 7 since
-- when, 8 the batch, 9 how many, 10 the collection, 11 the activity. Items of a time have no order in the index of identifiers, so that a list since a time begins at the least of
-- their identifiers: what is behind it is not read in vain.
-- list: items.asked_for
($2::uuid IS NULL OR w.institution_id = $2) AND ($3::text IS NULL OR w.status = $3) AND (w.status <> 'deleted' OR $3 = 'deleted')
    AND ($4::text IS NULL OR w.stage = $4) AND ($5::text IS NULL OR w.action = $5) AND ($8::uuid IS NULL OR w.batch_id = $8)
    AND ($10::uuid IS NULL OR w.collection_id = $10) AND ($11::uuid IS NULL OR w.activity_id = $11)
    AND ($6::boolean IS NULL OR (w.needs_review = $6 AND NOT {items.made_good})) AND ($7::bigint IS NULL OR w.created_at >= $7)
-- list: items.begin_of_list
CASE WHEN $7::bigint IS NULL THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE
    coalesce((SELECT m.id FROM (SELECT x.id FROM work_items x WHERE x.created_at >= $7 OFFSET 0) AS m ORDER BY m.id LIMIT 1),
        'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) END
-- list: items.page
SELECT {items.columns}
FROM {items.tables}
WHERE w.id IN (SELECT w.id
-- list: items.oldest_first
w.id >= greatest($1, {items.begin_of_list}) AND w.id <> $1
        AND {items.asked_for}
    ORDER BY w.id LIMIT $9::bigint)
ORDER BY w.id
-- list: items.newest_first
w.id >= {items.begin_of_list} AND w.id < $1
        AND {items.asked_for}
    ORDER BY w.id DESC LIMIT $9::bigint)
ORDER BY w.id DESC
-- name: listing.oldest_of_status
{items.page} FROM work_items w
        WHERE w.status = $3 AND {items.oldest_first}
-- name: listing.oldest_of_institution
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND {items.oldest_first}
-- name: listing.oldest_of_status_of_institution
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND w.status = $3 AND {items.oldest_first}
-- name: listing.oldest_of_collection
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND w.collection_id = $10 AND w.status = $3 AND {items.oldest_first}
-- name: listing.oldest_to_review
{items.page} FROM work_items w
        WHERE w.needs_review AND {items.oldest_first}
-- name: listing.oldest_of_action
{items.page} FROM work_items w
        WHERE w.action = $5 AND {items.oldest_first}
-- name: listing.oldest_of_batch
{items.page} FROM work_items w
        WHERE w.batch_id = $8 AND {items.oldest_first}
-- name: listing.oldest_of_activity
{items.page} FROM work_items w
        WHERE w.activity_id = $11 AND {items.oldest_first}
-- name: listing.oldest_of_object
{items.page} FROM work_items w
        WHERE w.institution_id = $12 AND w.object_identifier = $13 AND {items.oldest_first}
-- name: listing.newest_of_status
{items.page} FROM work_items w
        WHERE w.status = $3 AND {items.newest_first}
-- name: listing.newest_of_institution
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND {items.newest_first}
-- name: listing.newest_of_status_of_institution
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND w.status = $3 AND {items.newest_first}
-- name: listing.newest_of_collection
{items.page} FROM work_items w
        WHERE w.institution_id = $2 AND w.collection_id = $10 AND w.status = $3 AND {items.newest_first}
-- name: listing.newest_to_review
{items.page} FROM work_items w
        WHERE w.needs_review AND {items.newest_first}
-- name: listing.newest_of_action
{items.page} FROM work_items w
        WHERE w.action = $5 AND {items.newest_first}
-- name: listing.newest_of_activity
{items.page} FROM work_items w
        WHERE w.activity_id = $11 AND {items.newest_first}
-- name: listing.newest_of_object
{items.page} FROM work_items w
        WHERE w.institution_id = $12 AND w.object_identifier = $13 AND {items.newest_first}
