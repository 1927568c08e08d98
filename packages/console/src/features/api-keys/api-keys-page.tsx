import type { ApiKey } from "@keelson/contract";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useChange } from "../../api/use-action.ts";
import { useRows } from "../../api/use-rows.ts";
import { at } from "../../api/route.ts";
import { listApiKeys, revokeApiKey } from "../../api/routes/api-keys.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time, useNow } from "../../ui/time.tsx";
import { CreateApiKey } from "./create-api-key.tsx";

/** Keys of programs. Each is bound to this environment and may do no more than its permissions say. */
export function ApiKeysPage(): ReactNode {
  const place = usePlace();
  const list = useRows(["e", place.environment_id], at(listApiKeys, place), {});
  return (
    <Page title="API keys" subtitle="API keys let programs call this environment." actions={<CreateApiKey />}>
      <ListTable
        label="API keys"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No API keys yet" command="keelson key create CI">
            The SDK and the command line take a key from KEELSON_API_KEY.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: readonly Column<ApiKey>[] = [
  { heading: "Name", cell: ({ name }) => name },
  { heading: "State", cell: (key) => <KeyState apiKey={key} /> },
  { heading: "Permissions", isOptional: true, cell: (key) => <Permissions permissions={key.permissions} /> },
  { heading: "Created", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
  { heading: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { heading: "Actions", cell: (key) => <RevokeApiKey apiKey={key} /> },
];

function KeyState({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const now = useNow();
  if (apiKey.revoked_at !== null) return <Status value="revoked" />;
  const hasExpired = apiKey.expires_at !== null && Date.parse(apiKey.expires_at) <= now;
  return <Status value={hasExpired ? "expired" : "active"} />;
}

function Permissions({ permissions }: { permissions: readonly string[] }): ReactNode {
  return (
    <details>
      <summary>{permissions.length}</summary>
      <p className="max-w-sm text-xs text-quiet">{permissions.join(", ")}</p>
    </details>
  );
}

function RevokeApiKey({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const place = usePlace();
  const revoke = useChange(
    ["e", place.environment_id],
    () => send(at(revokeApiKey, { ...place, id: apiKey.id })),
    {
      done: `${apiKey.name} is revoked.`,
      isShownInPlace: true,
    },
  );
  if (apiKey.revoked_at !== null) return null;
  return (
    <ConfirmButton
      title={`Revoke ${apiKey.name}?`}
      description="Keelson refuses this credential at once. You cannot undo this."
      name={apiKey.name}
      verb="Revoke"
      onConfirm={() => revoke.mutateAsync()}
    >
      Revoke
    </ConfirmButton>
  );
}
