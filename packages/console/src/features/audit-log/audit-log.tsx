import type { AuditEvent } from "@keelson/contract";
import type { QueryKey } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useRows } from "../../api/use-rows.ts";
import type { InOrganization } from "../../api/route.ts";
import type { adminListAuditEvents } from "../../api/routes/admin-audit-log.ts";
import type { listAuditEvents } from "../../api/routes/audit-log.ts";
import { Button } from "../../ui/button.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { TextField } from "../../ui/field.tsx";
import { formValues } from "../../ui/form-values.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { Facts } from "../../ui/page.tsx";
import { auditFilter } from "./audit-filter.ts";
import { useNames, type Names } from "./audit-names.ts";
import { What, Who } from "./who-and-what.tsx";
import { ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

/** Who did what to which resource, the newest first. Each event carries the digest of the one before. */
export function AuditLog({
  cacheKey,
  route,
  scope,
}: {
  cacheKey: QueryKey;
  route: typeof listAuditEvents | typeof adminListAuditEvents;
  /** Null: the installation's own log. */
  scope: InOrganization | null;
}): ReactNode {
  const filter = auditFilter(useSearch({ strict: false }));
  const [shown, setShown] = useState<AuditEvent | null>(null);
  const list = useRows(cacheKey, route, { ...scope, ...filter });
  const names = useNames(list.rows, scope);
  return (
    <>
      <FilterForm />
      <ListTable
        label="Audit events"
        columns={[
          { heading: "At", cell: ({ at }) => <Time at={at} /> },
          { heading: "Action", cell: ({ action }) => <code className="font-mono text-xs">{action}</code> },
          { heading: "Who", cell: (event) => <Who event={event} names={names} /> },
          { heading: "What", isOptional: true, cell: (event) => <What event={event} /> },
          { heading: "From", isOptional: true, cell: ({ address }) => address ?? "–" },
          {
            heading: "Details",
            cell: (event) => <Button onClick={() => setShown(event)}>Show {event.sequence}</Button>,
          },
        ]}
        rowKey={({ id }) => id}
        list={list}
        empty={<Empty title="No events match these filters" />}
      />
      {shown !== null && <EventDialog event={shown} names={names} onClose={() => setShown(null)} />}
    </>
  );
}

function FilterForm(): ReactNode {
  const filter = auditFilter(useSearch({ strict: false }));
  const navigate = useNavigate();
  return (
    <form
      key={JSON.stringify(filter)}
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        const { text } = formValues(event);
        const wanted = {
          action: text("action"),
          actor_id: text("actor_id"),
          resource_id: text("resource_id"),
        };
        void navigate({ to: ".", search: auditFilter(wanted) });
      }}
    >
      <TextField label="Action" name="action" placeholder="api_keys.revoke" defaultValue={filter.action} />
      <TextField label="Who (id)" name="actor_id" placeholder="user_…" defaultValue={filter.actor_id} />
      <TextField
        label="Resource (id)"
        name="resource_id"
        placeholder="key_…"
        defaultValue={filter.resource_id}
      />
      <Button type="submit">Filter</Button>
    </form>
  );
}

function EventDialog({
  event,
  names,
  onClose,
}: {
  event: AuditEvent;
  names: Names;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog title={event.action} isOpen onClose={onClose}>
      <Facts
        rows={[
          ["At", <Time key="at" at={event.at} />],
          ["Who", <Who key="who" event={event} names={names} />],
          [
            "Who (id)",
            event.actor.id === null ? event.actor.kind : <Id key="actor" value={event.actor.id} />,
          ],
          [
            "Credential",
            event.credential === null ? "none" : `${event.credential.kind} ${event.credential.id}`,
          ],
          ["What", <What key="what" event={event} />],
          [
            "What (id)",
            event.resource.id === null ? "none" : <Id key="resource" value={event.resource.id} />,
          ],
          ["From", event.address ?? "–"],
          ["Request", <Id key="request" value={event.request_id} />],
          ["Place in the chain", event.sequence],
          ["Digest", <Id key="digest" value={event.digest} />],
        ]}
      />
      <JsonView value={event.details} label="Details" />
    </Dialog>
  );
}
