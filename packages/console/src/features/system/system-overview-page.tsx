import type { LoopFailure, System } from "@keelson/contract";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get } from "../../api/client.ts";
import { adminGetSystem } from "../../api/routes/admin-system.ts";
import { Async } from "../../ui/async.tsx";
import { describeBytes } from "../../ui/describe-bytes.ts";
import { Card, Facts, Section } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";

const REFETCH_MS = 10_000;

export function SystemOverviewPage(): ReactNode {
  const system = useQuery({
    queryKey: [...SYSTEM_KEY, "system"],
    queryFn: ({ signal }) => get(adminGetSystem, {}, signal),
    refetchInterval: REFETCH_MS,
  });
  return (
    <SystemPage title="System">
      <Async result={system}>{(data) => <Overview system={data} />}</Async>
    </SystemPage>
  );
}

/** What a background loop left out, so that all else goes on. */
function Failures({ failures }: { failures: readonly LoopFailure[] }): ReactNode {
  if (failures.length === 0) return null;
  return (
    <Section title="Items that fail">
      <Table
        label="Items that fail, the latest first"
        columns={[
          { heading: "Loop", cell: ({ loop }) => <code className="font-mono text-xs">{loop}</code> },
          { heading: "Item", cell: ({ item }) => <code className="font-mono text-xs">{item}</code> },
          { heading: "Cause", cell: ({ cause }) => visibleText(cause) },
          { heading: "Failures", isNumber: true, cell: ({ failures: count }) => count },
          { heading: "Next try", cell: ({ retry_at }) => <Time at={retry_at} /> },
        ]}
        rows={failures}
        rowKey={({ loop, item }) => `${loop} ${item}`}
      />
    </Section>
  );
}

/** A takeover by a standby that no commit waits for may lose what was confirmed. */
function describeStandbys({ standbys, synchronous_standby_names: names }: System["database"]): string {
  if (names !== "") return `${standbys}; commits wait for ${names}`;
  return standbys === 0 ? "none" : `${standbys}; commits wait for none: a takeover may lose some`;
}

function Overview({ system }: { system: System }): ReactNode {
  const { database, blobs } = system;
  return (
    <>
      <Card>
        <Facts
          rows={[
            ["Version", system.version],
            ["Contract", system.api_version],
            ["Worker protocol", system.worker_protocol_version],
            ["Runtime", system.runtime],
            ["Clock", system.clock_problem ?? "as PostgreSQL's"],
            ["PostgreSQL", database.version],
            ["Database", describeBytes(database.size_bytes)],
            ["fsync", database.fsync],
            ["Full page writes", database.full_page_writes],
            ["Synchronous commit", database.synchronous_commit],
            ["Standbys", describeStandbys(database)],
            ["Connection limit", database.max_connections],
            ["Bundles", `${blobs.bundles.count}, ${describeBytes(blobs.bundles.size_bytes)}`],
            ["Workspace blobs", `${blobs.workspaces.count}, ${describeBytes(blobs.workspaces.size_bytes)}`],
          ]}
        />
      </Card>
      <Failures failures={system.loop_failures} />
      <Section title="Largest tables">
        <Table
          label="Tables by size"
          columns={[
            { heading: "Table", cell: ({ name }) => <code className="font-mono text-xs">{name}</code> },
            { heading: "Rows, about", isNumber: true, cell: ({ rows }) => rows.toLocaleString() },
            { heading: "Size", isNumber: true, cell: ({ size_bytes }) => describeBytes(size_bytes) },
          ]}
          rows={system.tables.slice(0, 15)}
          rowKey={({ name }) => name}
        />
      </Section>
      <Section title="Retention">
        <Card>
          <Facts
            rows={Object.entries(system.retention).map(([kind, age]) => [
              kind.replaceAll("_", " "),
              age ?? "forever",
            ])}
          />
        </Card>
      </Section>
      <Section title="Migrations">
        <Table
          label="Migrations, newest first"
          columns={[
            { heading: "Migration", cell: ({ name }) => <code className="font-mono text-xs">{name}</code> },
            { heading: "Applied", cell: ({ applied_at }) => <Time at={applied_at} /> },
          ]}
          rows={system.migrations.toReversed()}
          rowKey={({ name }) => name}
        />
      </Section>
    </>
  );
}
