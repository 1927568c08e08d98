import type { OauthGrant } from "@keelson/contract";
import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { at } from "../../api/route.ts";
import { listOauthGrants, revokeOauthGrant } from "../../api/routes/connected-clients.ts";
import { useChange } from "../../api/use-action.ts";
import { useRows } from "../../api/use-rows.ts";
import { placesQuery } from "../../app/session.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { nameOf } from "./who-asks.tsx";

const KEY = ["oauth-grants"];

/** The clients that the person connected, in all their environments. */
export function ConnectedClientsPage(): ReactNode {
  const list = useRows(KEY, listOauthGrants, {});
  return (
    <Page title="Connected clients" subtitle="Clients that act for you by the Model Context Protocol.">
      <ListTable
        label="Connected clients"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No connected clients yet">
            Enter {location.origin}/mcp in a client of the Model Context Protocol. The client opens a page
            here, on which you approve it.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: readonly Column<OauthGrant>[] = [
  { heading: "Client", cell: ({ client }) => nameOf(client) },
  {
    heading: "Address",
    isOptional: true,
    cell: ({ redirect_host: host }) => host ?? "by a code",
  },
  { heading: "Environment", cell: (grant) => <Environment grant={grant} /> },
  { heading: "May", cell: ({ access }) => (access === "write" ? "look and act" : "look") },
  { heading: "Connected", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { heading: "Actions", cell: (grant) => <Disconnect grant={grant} /> },
];

function Environment({ grant }: { grant: OauthGrant }): ReactNode {
  const { data: places } = useSuspenseQuery(placesQuery);
  const place = places.find(({ environment }) => environment.id === grant.environment_id);
  return place === undefined ? grant.environment_id : `${place.project.name} / ${place.environment.name}`;
}

function Disconnect({ grant }: { grant: OauthGrant }): ReactNode {
  const name = nameOf(grant.client);
  const revoke = useChange(KEY, () => send(at(revokeOauthGrant, { id: grant.id })), {
    done: `${name} is disconnected.`,
    isShownInPlace: true,
  });
  return (
    <ConfirmButton
      title={`Disconnect ${name}?`}
      description="Keelson refuses the client at once. To use it again, connect it again."
      verb="Disconnect"
      onConfirm={() => revoke.mutateAsync()}
    >
      Disconnect
    </ConfirmButton>
  );
}
