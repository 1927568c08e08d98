import type { Session } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { at } from "../../api/route.ts";
import { useItem } from "../../api/use-item.ts";
import { getSessionUsage, listSessionRuns } from "../../api/routes/sessions.ts";
import { pageAddress } from "../../app/navigation.ts";
import { Loading } from "../../ui/async.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Section } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Tags } from "../../ui/tags.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { ModelsUsed } from "../usage/models-used.tsx";
import { SessionFiles } from "./session-files.tsx";

/** A state may be large, so it is read when somebody wants to see it. */
const SessionState = lazy(async () => ({ default: (await import("./session-state.tsx")).SessionState }));

/** Beside the conversation: the turns with their runs, and what the session is. */
export function SessionSide({ session }: { session: Session }): ReactNode {
  return (
    <aside aria-label="About the session" className="flex flex-col gap-5 text-sm lg:overflow-y-auto">
      <LastFailure session={session} />
      <Turns session={session} />
      <Used session={session} />
      <SessionFiles sessionId={session.id} />
      <State session={session} />
      <About session={session} />
    </aside>
  );
}

function LastFailure({ session }: { session: Session }): ReactNode {
  const { last_failure: failure, environment_id: environmentId } = session;
  if (failure === null) return null;
  return (
    <Section title="Last failure">
      <div className="flex flex-col gap-1 rounded-lg border border-bad bg-surface px-3 py-2">
        <p className="break-words whitespace-pre-wrap">{visibleText(failure.message)}</p>
        <div className="flex justify-between gap-2 text-xs text-quiet">
          <Link
            to={pageAddress(`/e/${environmentId}/runs`, failure.run_id)}
            className="text-accent hover:underline"
          >
            Show the failed run
          </Link>
          <Time at={failure.at} />
        </div>
      </div>
    </Section>
  );
}

function Turns({ session }: { session: Session }): ReactNode {
  const runs = useList(at(listSessionRuns, { id: session.id }), { limit: 20, refetchMs: 2000 });
  return (
    <Section title="Turns">
      {runs.error !== null && <ErrorPanel error={runs.error} onRetry={runs.refetch} />}
      <ul className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface">
        {runs.rows.map(({ id, turn, status, started_at, finished_at, pending_wait }) => (
          <li key={id} className="flex flex-col gap-1 px-3 py-2">
            <div className="flex items-center justify-between gap-2">
              <Link
                to={pageAddress(`/e/${session.environment_id}/runs`, id)}
                aria-label={`Run of turn ${turn ?? ""}`}
                className="text-accent hover:underline"
              >
                Turn {turn}
              </Link>
              <Status value={status} />
            </div>
            <div className="flex justify-between text-xs text-quiet">
              <Time at={started_at} />
              <Duration from={started_at} to={finished_at} />
            </div>
            {pending_wait !== null && (
              <p className="text-xs text-quiet">
                Waits for{" "}
                {pending_wait.kind === "input" ? `input on ${pending_wait.stream ?? ""}` : pending_wait.kind}
              </p>
            )}
          </li>
        ))}
      </ul>
      {runs.hasMore && (
        <button type="button" className="text-xs text-accent hover:underline" onClick={runs.loadMore}>
          Earlier turns
        </button>
      )}
    </Section>
  );
}

function Used({ session }: { session: Session }): ReactNode {
  const used = useItem(at(getSessionUsage, { id: session.id }), { refetchMs: 5000 });
  if (used.data === undefined || used.data.calls === 0) return null;
  return (
    <Section title="Model usage">
      <ModelsUsed usage={used.data} />
    </Section>
  );
}

function State({ session }: { session: Session }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Section
      title="State"
      actions={
        <button
          type="button"
          aria-expanded={isOpen}
          className="text-xs text-accent hover:underline"
          onClick={() => setIsOpen(!isOpen)}
        >
          {isOpen ? "Hide state" : "Show state"}
        </button>
      }
    >
      {isOpen && (
        <Suspense fallback={<Loading />}>
          <SessionState sessionId={session.id} />
        </Suspense>
      )}
    </Section>
  );
}

function About({ session }: { session: Session }): ReactNode {
  const { external_id, actor, task, status_reason, workspace_id, close_reason } = session;
  const rows: (readonly [string, ReactNode])[] = [
    ["Id", <Id key="id" value={session.id} />],
    [actor === null ? "Task" : "Actor", actor ?? task],
  ];
  if (external_id !== null)
    rows.push(["External id", <Id key="external" value={visibleText(external_id)} />]);
  if (status_reason !== null) rows.push(["Reason", visibleText(status_reason.message)]);
  if (close_reason !== null) rows.push(["Why it ended", visibleText(close_reason)]);
  if (session.tags.length > 0) rows.push(["Tags", <Tags key="tags" tags={session.tags} />]);
  rows.push(["Created", <Time key="created" at={session.created_at} />]);
  if (session.closed_at !== null) rows.push(["Ended", <Time key="ended" at={session.closed_at} />]);
  if (session.expires_at !== null) rows.push(["Expires", <Time key="expires" at={session.expires_at} />]);
  if (workspace_id !== null)
    rows.push([
      "Workspace",
      <Link
        key="workspace"
        to={pageAddress(`/e/${session.environment_id}/workspaces`, workspace_id)}
        className="font-mono text-xs break-all text-accent hover:underline"
      >
        {workspace_id}
      </Link>,
    ]);
  return (
    <Section title="About">
      <dl className="grid grid-cols-[6rem_minmax(0,1fr)] items-baseline gap-x-3 gap-y-1.5">
        {rows.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-xs leading-5 text-quiet">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
      </dl>
      {Object.keys(session.metadata).length > 0 && <JsonView value={session.metadata} label="the metadata" />}
    </Section>
  );
}
