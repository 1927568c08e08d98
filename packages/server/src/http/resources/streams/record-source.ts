import { encodeId } from "@keelson/contract";
import type { RecordSource } from "../../../core/streams/stream.ts";
import type { EnvironmentScope } from "../../edge/route.ts";

/** Whom a record is said to be from, by who appends it. */
export function sourceOf({ caller }: EnvironmentScope): RecordSource {
  if (caller.kind === "run") {
    const { id, attemptNumber } = caller;
    return { kind: "run", id: encodeId("run", id), runId: id, attemptNumber, messageId: null };
  }
  const id = encodeId(caller.kind === "api_key" ? "key" : "user", caller.id);
  return { kind: "api", id, runId: null, attemptNumber: null, messageId: null };
}
