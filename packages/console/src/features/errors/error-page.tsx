import type { ErrorGroup } from "@keelson/contract";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { at } from "../../api/route.ts";
import { getErrorGroup } from "../../api/routes/error-groups.ts";
import { getRun } from "../../api/routes/runs.ts";
import { useItem } from "../../api/use-item.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { ItemAsync } from "../../app/item-async.tsx";
import { RecentRuns } from "../../app/recent-runs.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleLines, visibleText } from "../../ui/visible-text.ts";
import { StackView } from "../runs/header/stack-view.tsx";
import { ErrorActions } from "./error-actions.tsx";
import { GroupStatus } from "./group-status.tsx";

const REFETCH_MS = 2000;

export function ErrorPage(): ReactNode {
  const { errorGroupId } = useParams({ strict: false });
  const group = useItem(at(getErrorGroup, { id: errorGroupId ?? "" }), { refetchMs: REFETCH_MS });
  return <ItemAsync result={group}>{(shown) => <ErrorDetails group={shown} />}</ItemAsync>;
}

function ErrorDetails({ group }: { group: ErrorGroup }): ReactNode {
  return (
    <Page
      title={visibleText(group.title)}
      subtitle={<GroupStatus group={group} />}
      actions={<ErrorActions group={group} />}
    >
      <Card>
        <Facts rows={factsOf(group)} />
      </Card>
      <Sample group={group} />
      <RecentRuns
        filter={{ error_group_id: group.id }}
        title="Runs with this error"
        allLabel="All of them"
        emptyText="No runs with this error are kept."
        hasEntrypoint
      />
    </Page>
  );
}

function factsOf(group: ErrorGroup): [string, ReactNode][] {
  const links = (page: "tasks" | "actors", names: readonly string[]): [string, ReactNode][] =>
    names.length === 0
      ? []
      : [
          [
            page === "tasks" ? "Tasks" : "Actors",
            <span key={page} className="flex flex-wrap gap-x-2">
              {names.map((name) => (
                <EnvironmentLink key={name} to={`${page}/${name}`}>
                  {name}
                </EnvironmentLink>
              ))}
            </span>,
          ],
        ];
  const resolved: [string, ReactNode][] =
    group.resolved_at === null
      ? []
      : [
          [
            group.resolved_in_version === null
              ? "Last resolved"
              : `Last resolved, in version ${group.resolved_in_version}`,
            <Time key="resolved" at={group.resolved_at} />,
          ],
        ];
  return [
    ["Runs", group.count.toLocaleString()],
    ["Last seen", <Time key="last" at={group.last_seen_at} />],
    ["First seen", <Time key="first" at={group.first_seen_at} />],
    ...links("tasks", group.tasks),
    ...links("actors", group.actors),
    ["Kind", group.kind.replaceAll("_", " ")],
    ...resolved,
    ...(group.reopened_at === null
      ? []
      : ([["Failed again", <Time key="reopened" at={group.reopened_at} />]] as [string, ReactNode][])),
    ["Error id", <Id key="id" value={group.id} />],
  ];
}

/** The error of the last run; that of the first where the last one is not kept any more. */
function Sample({ group }: { group: ErrorGroup }): ReactNode {
  const { data: run } = useItem(at(getRun, { id: group.last_run_id }));
  const failure = run?.failure ?? null;
  return (
    <Section
      title="Message and stack"
      actions={
        run !== undefined && (
          <EnvironmentLink to={`runs/${run.id}`}>Latest run with this error</EnvironmentLink>
        )
      }
    >
      <p className="break-words whitespace-pre-wrap">
        <bdi>{visibleLines(failure?.message ?? group.message)}</bdi>
      </p>
      {failure !== null && failure.stack !== null ? (
        <StackView stack={failure.stack} />
      ) : (
        group.frame !== null && <p className="font-mono text-xs break-all">at {visibleText(group.frame)}</p>
      )}
    </Section>
  );
}
