-- How many bytes the newest version has of what a request names; none where the request is from before this was counted. `files` counts the
-- files of objects that are named as a whole as well from then on.
ALTER TABLE deletion_requests ADD COLUMN bytes BIGINT;
