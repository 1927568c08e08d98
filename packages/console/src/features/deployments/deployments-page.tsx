import type { Deployment } from "@keelson/contract";
import type { ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { listDeployments } from "../../api/routes/deployments.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { GitFacts } from "./git-facts.tsx";

const COLUMNS: readonly Column<Deployment>[] = [
  {
    heading: "Version",
    cell: ({ id, version, is_current: isCurrent }) => (
      <span className="inline-flex items-center gap-2">
        <EnvironmentLink to={`deployments/${id}`} className="font-medium text-accent hover:underline">
          {version}
        </EnvironmentLink>
        {isCurrent && <Badge tone="accent">current</Badge>}
      </span>
    ),
  },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Made", cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Promoted", isOptional: true, cell: ({ promoted_at }) => <Time at={promoted_at} /> },
  { heading: "Git", isOptional: true, cell: ({ git }) => <GitFacts git={git} /> },
  { heading: "Tasks", isNumber: true, isOptional: true, cell: ({ tasks }) => tasks.length },
  { heading: "Actors", isNumber: true, isOptional: true, cell: ({ actors }) => actors.length },
];

const REFETCH_MS = 2000;

export function DeploymentsPage(): ReactNode {
  const list = useList(listDeployments, { refetchMs: REFETCH_MS });
  return (
    <Page
      title="Deployments"
      subtitle="A deployment is a version of your code. New runs start on the current one."
    >
      <ListTable
        label="Deployments"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No deployments yet" command={`keelson deploy --url ${location.origin}`}>
            A deployment brings the tasks and actors of a project to the workers.
          </Empty>
        }
      />
    </Page>
  );
}
