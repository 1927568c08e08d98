-- Who did what: events that are only ever added, each with the digest of the one before it. An organization has a
-- chain of its own; what belongs to no organization is in the chain of the installation, the nil UUID.

CREATE TABLE audit_chains (
  chain_id uuid PRIMARY KEY,
  -- Of the newest event. The row's lock is what puts the events of a chain in one order.
  sequence bigint NOT NULL,
  digest bytea NOT NULL,
  CHECK (sequence > 0 AND length(digest) = 32)
);

CREATE TABLE audit_events (
  chain_id uuid NOT NULL,
  sequence bigint NOT NULL,
  id uuid NOT NULL UNIQUE,
  action text NOT NULL,
  actor_id text,
  resource_id text,
  -- The event as RFC 8785 writes it, without its digest: the bytes that were digested.
  content text NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (chain_id, sequence),
  CHECK (length(digest) = 32)
);
CREATE INDEX audit_events_actor ON audit_events (chain_id, actor_id, sequence);
CREATE INDEX audit_events_resource ON audit_events (chain_id, resource_id, sequence);

-- A privilege would not do: the server's own role owns the table, and the embedded server's is a superuser.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are only added, never changed or removed';
END
$$;
CREATE TRIGGER audit_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
