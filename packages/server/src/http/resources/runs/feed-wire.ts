import { encodeId, type RunEvent, type RunLogChunk, type Uuid } from "@keelson/contract";
import { EVENT_MESSAGES, type NumberedEvent } from "../../../core/run-events/run-event.ts";
import type { LogChunkRow } from "../../../core/run-logs/run-log-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

export const toRunEvent = (runId: Uuid<"run">, { sequence, event }: NumberedEvent): RunEvent => ({
  id: String(sequence),
  run_id: encodeId("run", runId),
  attempt_number: event.a ?? null,
  kind: event.k,
  severity: event.s ?? "info",
  message: event.m ?? EVENT_MESSAGES[event.k],
  attributes: event.x ?? {},
  at: toTimestamp(event.t),
});

export const toRunLogChunk = (runId: Uuid<"run">, chunk: LogChunkRow): RunLogChunk => ({
  id: String(chunk.sequence),
  run_id: encodeId("run", runId),
  attempt_number: chunk.attemptNumber,
  stream: chunk.stream,
  data: chunk.data.toString("base64"),
  at: toTimestamp(chunk.at),
});
