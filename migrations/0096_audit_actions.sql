-- Owners and admins of an organization look for one kind of action in its log, as they do for an actor or a resource.
CREATE INDEX audit_events_action ON audit_events (chain_id, action, sequence);
