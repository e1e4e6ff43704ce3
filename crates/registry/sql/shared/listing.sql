-- Lists of work items without a filter that an index serves; the parts and the other statements differ between the databases.

-- name: listing.oldest
{items.page} FROM work_items w
        WHERE {items.oldest_first}
-- name: listing.newest
{items.page} FROM work_items w
        WHERE {items.newest_first}
