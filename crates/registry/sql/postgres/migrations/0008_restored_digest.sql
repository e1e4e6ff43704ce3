-- The SHA-256 of what a restoration was about to put when it sent the last byte: what is found at the place afterwards is
-- its own only where it has this digest.
ALTER TABLE restored ADD COLUMN sha256 TEXT COLLATE "C";
