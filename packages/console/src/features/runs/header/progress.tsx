import type { Run, RunEvent } from "@keelson/contract";
import type { ReactNode } from "react";
import { Duration, Time } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Attempt } from "./attempts-of.ts";

/** What a run that a worker has is at: its attempt, and the step that ended last. */
export function Progress({
  run,
  attempt,
  events,
}: {
  run: Run;
  attempt: Attempt | undefined;
  events: readonly RunEvent[];
}): ReactNode {
  const step = events.findLast(
    ({ kind, attempt_number: number }) => kind === "step.completed" && number === attempt?.number,
  );
  const name = step?.attributes["step"];
  const since = attempt?.fromMs ?? null;
  return (
    <p className="text-quiet">
      {run.status === "cancel_requested" ? "Stopping" : "Running"}
      {since !== null && (
        <>
          {" for "}
          <Duration from={new Date(since).toISOString()} to={null} />
        </>
      )}
      {step !== undefined && typeof name === "string" && (
        <>
          . Last completed step: <bdi className="text-text">{visibleText(name)}</bdi>,{" "}
          <Time at={step.at} isPast />
        </>
      )}
    </p>
  );
}
