import { encodeId } from "@keelson/contract";
import type { StateRow } from "../../../core/sessions/session-state-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

const text = JSON.stringify;

/** All that is said of a state besides its value, as JSON text: what is kept of an answer, so that a value is not kept twice. */
export function stateFactsJson({
  sessionId,
  version,
  updatedAt,
  sourceKind,
  sourceId,
  runId,
  attemptNumber,
}: StateRow): string {
  const source = sourceKind === null ? "null" : `{"kind":"${sourceKind}","id":${text(sourceId)}}`;
  return (
    `{"session_id":"${encodeId("sess", sessionId)}","version":${version ?? 0}` +
    `,"updated_at":${updatedAt === null ? "null" : `"${toTimestamp(updatedAt)}"`},"source":${source}` +
    `,"run_id":${runId === null ? "null" : `"${encodeId("run", runId)}"`},"attempt_number":${attemptNumber}}`
  );
}

/** A state as JSON text: its value is stored as JSON text and goes out as it is. */
export const stateJson = (facts: string, value: string | null): string =>
  `{"state":${value ?? "null"},${facts.slice(1)}`;
