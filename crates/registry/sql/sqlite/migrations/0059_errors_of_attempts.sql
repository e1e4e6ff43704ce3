-- Why the last attempt at an activity could not go on, until something succeeds.
ALTER TABLE activities ADD COLUMN attempt_error TEXT;
CREATE INDEX activities_tried_again ON activities (id) WHERE attempt_error IS NOT NULL;
