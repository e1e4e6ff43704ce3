-- The deletion of an object is an act of its own beside the last version that it leaves.
DROP TRIGGER event_is_audited ON events;
CREATE TRIGGER event_is_audited AFTER INSERT ON events FOR EACH ROW
WHEN ((NEW.version IS NULL OR NEW.type = 'deletion') AND NOT (NEW.type = 'fixity check' AND NEW.outcome = 'success'))
EXECUTE FUNCTION event_is_audited();
INSERT INTO audit_pending (source, id) SELECT 'event', id FROM events
WHERE type = 'deletion' AND version IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM audit_entries WHERE audit_entries.source = 'event' AND audit_entries.id = events.id)
ON CONFLICT DO NOTHING;
