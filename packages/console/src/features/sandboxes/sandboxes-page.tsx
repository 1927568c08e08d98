import type { Sandbox } from "@keelson/contract";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { getAll } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { itemKey } from "../../api/use-item.ts";
import { listSandboxes } from "../../api/routes/sandboxes.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { ItemAsync } from "../../app/item-async.tsx";
import { NotFound } from "../../app/not-found.tsx";
import { Async } from "../../ui/async.tsx";
import { CopyText, Id } from "../../ui/copy-button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { countOf } from "../../ui/count-of.ts";

function useSandboxes(): UseQueryResult<Sandbox[]> {
  const place = usePlace();
  return useQuery<Sandbox[]>({
    queryKey: itemKey(place.environment_id, listSandboxes, { all: 1 }),
    queryFn: () => getAll(listSandboxes, place),
  });
}

const describeMemory = ({ resources: { memory } }: Sandbox): string =>
  memory === null ? "no limit" : `${memory} MiB`;
const describeCpu = ({ resources: { cpu } }: Sandbox): string => (cpu === null ? "no limit" : `${cpu} cores`);

const COLUMNS: readonly Column<Sandbox>[] = [
  {
    heading: "Sandbox",
    cell: ({ declared_id: id }) => (
      <EnvironmentLink to={`sandboxes/${id}`} className="font-medium break-all text-accent hover:underline">
        {id}
      </EnvironmentLink>
    ),
  },
  { heading: "Isolation", cell: ({ isolation }) => isolation },
  { heading: "Network", cell: ({ network }) => network },
  { heading: "Processor", isOptional: true, cell: describeCpu },
  { heading: "Memory", isOptional: true, cell: describeMemory },
  { heading: "Set-up", isOptional: true, cell: ({ setup }) => countOf(setup.length, "command") },
];

export function SandboxesPage(): ReactNode {
  return (
    <Page
      title="Sandboxes"
      subtitle="A sandbox defines what a workspace contains and may use. The sandbox named default always exists."
    >
      <Async result={useSandboxes()}>
        {(rows) => <Table label="Sandboxes" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} />}
      </Async>
    </Page>
  );
}

export function SandboxPage(): ReactNode {
  const { declaredId } = useParams({ strict: false });
  return (
    <ItemAsync result={useSandboxes()}>
      {(rows) => {
        const found = rows.find(({ declared_id: id }) => id === declaredId);
        return found === undefined ? <NotFound /> : <SandboxDetails sandbox={found} />;
      }}
    </ItemAsync>
  );
}

function SandboxDetails({ sandbox }: { sandbox: Sandbox }): ReactNode {
  const { declared_id: declaredId, deployment_id: deploymentId, setup, env } = sandbox;
  const declared =
    deploymentId === null ? (
      "built in"
    ) : (
      <EnvironmentLink to={`deployments/${deploymentId}`}>the current deployment</EnvironmentLink>
    );
  return (
    <Page title={declaredId} subtitle="A sandbox">
      <Card>
        <Facts
          rows={[
            ["Minimum isolation", sandbox.isolation],
            ["Network", sandbox.network],
            ["Processor", describeCpu(sandbox)],
            ["Memory", describeMemory(sandbox)],
            ["Declared by", declared],
            ["Sandbox id", <Id key="sandbox-id" value={sandbox.id} />],
          ]}
        />
      </Card>
      <Section title="Set-up">
        {setup.length === 0 ? (
          <p className="text-quiet">Workspaces of this sandbox start empty.</p>
        ) : (
          <CopyText text={setup.join("\n")} />
        )}
      </Section>
      {Object.keys(env).length > 0 && (
        <Section title="Environment variables">
          <JsonView label="variables" value={env} />
        </Section>
      )}
      <p>
        <EnvironmentLink to="workspaces" search={{ sandbox: declaredId }}>
          Workspaces
        </EnvironmentLink>
      </p>
    </Page>
  );
}
