import type { RunEvent } from "@keelson/contract";
import { EVENT_SEVERITIES } from "@keelson/contract/plain";
import type { RunSearch } from "./run-search.ts";

/** Events of a kind, `step` being all of `step.…`, and of a severity or a worse one. */
export function filterEvents(
  events: readonly RunEvent[],
  { kind, severity }: { kind: string | undefined; severity: RunSearch["severity"] | undefined },
): readonly RunEvent[] {
  if (kind === undefined && severity === undefined) return events;
  const least = EVENT_SEVERITIES.indexOf(severity ?? "debug");
  return events.filter(
    (event) =>
      (kind === undefined || event.kind === kind || event.kind.startsWith(`${kind}.`)) &&
      EVENT_SEVERITIES.indexOf(event.severity) >= least,
  );
}
