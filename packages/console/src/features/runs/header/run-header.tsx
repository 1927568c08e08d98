import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import type { Follow } from "../../../api/use-follow.ts";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { AnsweredTokens } from "../../tokens/answered-tokens.tsx";
import type { RunEvents } from "../run-events.ts";
import { RunFacts } from "../run-facts.tsx";
import { attemptsOf } from "./attempts-of.ts";
import { AttemptList } from "./attempt-list.tsx";
import { Failure } from "./failure.tsx";
import { HeldReason } from "./held-reason.tsx";
import { PendingWait } from "./pending-wait.tsx";
import { Progress } from "./progress.tsx";
import { StackView } from "./stack-view.tsx";

/** What the run is doing and why, and what it is. */
export function RunHeader({
  run,
  events,
  follow,
}: {
  run: Run;
  events: RunEvents;
  follow: Follow;
}): ReactNode {
  return (
    <>
      <div
        role="region"
        aria-label="What the run is doing"
        className="flex shrink-0 flex-col gap-2 empty:hidden"
      >
        <Doing run={run} events={events} />
        <AnsweredTokens runId={run.id} />
        {follow.state === "failed" && <ErrorPanel error={follow.error} />}
      </div>
      <RunFacts run={run} />
    </>
  );
}

function Doing({ run, events }: { run: Run; events: RunEvents }): ReactNode {
  const attempts = attemptsOf(events.all);
  const { failure, pending_wait: wait, status_reason: reason } = run;
  if (failure !== null)
    return <Failure failure={failure} errorGroupId={run.error_group_id} attempts={attempts} />;
  if (run.status === "waiting" && wait !== null) return <PendingWait run={run} wait={wait} />;
  const last = attempts.at(-1);
  return (
    <>
      {reason !== null && <HeldReason run={run} reason={reason} />}
      {isHeld(run) && <Progress run={run} attempt={last} events={events.all} />}
      {run.status === "retry_delayed" && typeof last?.stack === "string" && <StackView stack={last.stack} />}
      {attempts.length > (run.status === "retry_delayed" ? 0 : 1) && <AttemptList attempts={attempts} />}
    </>
  );
}

/** A worker has it, and is heard. */
const isHeld = ({ status, status_reason: reason }: Run): boolean =>
  reason === null && (status === "running" || status === "cancel_requested");
