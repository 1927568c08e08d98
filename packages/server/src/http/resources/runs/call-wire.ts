import { encodeId } from "@keelson/contract";
import type { KeptCall } from "../../../core/journal/journal-reads.ts";
import type { WaitRow } from "../../../core/waits/wait-reads.ts";
import { toTimestamp } from "../../edge/time.ts";
import { recordJson } from "../streams/wire.ts";

/** Durable calls as JSON text: the values in them are stored as JSON text and go out as they are. */

/** What the code of the run saw of a wait. */
export function waitValueJson(wait: WaitRow): string {
  if (wait.status !== "resolved") return "null";
  switch (wait.kind) {
    case "timer":
      return "null";
    case "token":
      return `{"status":"${wait.tokenStatus}","data":${wait.tokenData ?? "null"}}`;
    case "run":
      return `{"status":"${wait.childStatus}","output":${wait.childOutput ?? "null"},"failure":${wait.childFailure ?? "null"}}`;
    case "message":
      return `{"interrupted":${wait.isInterrupted}}`;
    case "input":
      return wait.record === null
        ? "null"
        : recordJson(wait.record.sessionId, wait.record.stream, wait.record);
  }
}

const timeJson = (ms: number | null): string => (ms === null ? "null" : `"${toTimestamp(ms)}"`);

const callWaitJson = ({ kind, status, timeoutAt }: WaitRow): string =>
  `{"kind":"${kind}","status":"${status}","timeout_at":${timeJson(timeoutAt)}}`;

/** A call with its wait, where it is one. */
export const runCallJson = ({ call, wait }: { call: KeptCall; wait: WaitRow | null }): string =>
  `{"run_id":"${encodeId("run", call.runId)}","position":${call.position},"kind":"${call.kind}","name":${JSON.stringify(call.name)}` +
  `,"attempt_number":${call.attemptNumber},"value":${wait === null ? (call.value ?? "null") : waitValueJson(wait)},"error":${call.error ?? "null"}` +
  `,"wait":${wait === null ? "null" : callWaitJson(wait)},"at":"${toTimestamp(call.at)}"}`;
