import type { Run, StatusReason, StatusReasonKind } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useUser } from "../../../app/session.ts";
import { CountDown } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { Notice } from "./notice.tsx";
import { ResourceLink } from "./resource-link.tsx";

/** Why a live run does not run, with a way to what holds it. */
export function HeldReason({ run, reason }: { run: Run; reason: StatusReason }): ReactNode {
  const { kind, message } = reason;
  return (
    <Notice tone="info" title={<Title run={run} reason={reason} />}>
      {!SAYS_ALL.has(kind) && <p className="break-words">{visibleText(message)}</p>}
      <Ways run={run} reason={reason} />
    </Notice>
  );
}

/** The title says what the message says. */
const SAYS_ALL: ReadonlySet<StatusReasonKind> = new Set([
  "delayed",
  "retry_delay",
  "queue_limit",
  "concurrency_key",
]);

function Title({ run, reason }: { run: Run; reason: StatusReason }): ReactNode {
  const { kind, details } = reason;
  const dueAt = textOf(reason, "available_at");
  const limit = typeof details?.["limit"] === "number" ? ` (limit ${details["limit"]})` : "";
  switch (kind) {
    case "delayed":
      return dueAt === null ? (
        "Starts later"
      ) : (
        <CountDown at={dueAt} before="The run starts" due="The run is about to start" />
      );
    case "retry_delay": {
      const next = nextAttempt(run);
      return dueAt === null ? (
        `${next} follows`
      ) : (
        <CountDown at={dueAt} before={`${next} begins`} due={`${next} is about to begin`} />
      );
    }
    case "queue_limit":
      return `Waiting for a slot of queue ${visibleText(run.queue)}${limit}`;
    case "concurrency_key":
      return `Waiting for a slot of concurrency key ${visibleText(run.concurrency_key ?? "")}${limit}`;
    case "no_worker":
      return "Waiting for a worker that can run it";
    case "worker_busy":
      return run.workspace_id === null
        ? "Waiting for a free worker"
        : "Waiting for a worker or the workspace";
    case "waiting":
      return "Waiting";
    case "lease_recovery":
      return dueAt === null ? (
        "Recovering from a lost worker"
      ) : (
        <CountDown
          at={dueAt}
          before="Recovering: the next try begins"
          due="Recovering: the next try begins now"
        />
      );
  }
}

/** Infrastructure may add attempts to those that the run was given. */
function nextAttempt({ attempt_number, max_attempts }: Run): string {
  const next = (attempt_number ?? 0) + 1;
  return next > max_attempts ? `Extra attempt ${next}` : `Attempt ${next} of ${max_attempts}`;
}

function textOf({ details }: StatusReason, name: string): string | null {
  const value = details?.[name];
  return typeof value === "string" ? value : null;
}

function holdersOf({ details }: StatusReason): readonly string[] {
  const value = details?.["held_by"];
  return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
}

function Ways({ run, reason }: { run: Run; reason: StatusReason }): ReactNode {
  const { is_admin: isAdmin } = useUser();
  const holders = holdersOf(reason);
  const limit = reason.details?.["limit"];
  const workspace = textOf(reason, "workspace_id");
  return (
    <>
      {holders.length > 0 && (
        <p className="flex flex-wrap gap-x-2">
          <span>
            {holders.length === 1 ? "Held by run" : "Held by runs"}
            {typeof limit === "number" && limit > holders.length && ` (${holders.length} of ${limit} shown)`}
          </span>
          {holders.map((id) => (
            <ResourceLink key={id} page="runs" id={id} />
          ))}
        </p>
      )}
      {workspace !== null && (
        <p>
          Workspace <ResourceLink page="workspaces" id={workspace} />
        </p>
      )}
      {reason.kind === "queue_limit" && (
        <p>
          <Link to="/e/$environmentId" params={{ environmentId: run.environment_id }} className="underline">
            All queues
          </Link>
        </p>
      )}
      {isAdmin && ABOUT_WORKERS.has(reason.kind) && (
        <p className="flex gap-3">
          <Link to="/system/workers" className="underline">
            Workers
          </Link>
          <Link to="/system/worker-groups" className="underline">
            Worker groups
          </Link>
        </p>
      )}
    </>
  );
}

const ABOUT_WORKERS: ReadonlySet<StatusReasonKind> = new Set(["no_worker", "worker_busy", "lease_recovery"]);
