import { encodeId, type RunFailure } from "@keelson/contract";
import type { PublicRunRow } from "../../../core/runs/public-run-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";
import { wireRetry } from "./retry-wire.ts";

/** Without the stack: where the code lies is nobody's business out there. */
function failureJson(text: string | null): string {
  if (text === null) return "null";
  const { kind, message } = JSON.parse(text) as RunFailure;
  return JSON.stringify({ kind, message });
}

/** A `PublicRun` as JSON text. Output and metadata are stored as JSON text and go out as they are. */
export function publicRunJson(run: PublicRunRow): string {
  const known = JSON.stringify({
    id: encodeId("run", run.id),
    task: run.entrypointKind === "task" ? run.entrypoint : null,
    actor: run.entrypointKind === "actor" ? run.entrypoint : null,
    status: run.status,
    attempt_number: run.attemptNumber,
    max_attempts: wireRetry(run.retry).maxAttempts,
    tags: run.tags ?? [],
    started_at: toTimestampOrNull(run.startedAt),
    finished_at: toTimestampOrNull(run.finishedAt),
    created_at: toTimestamp(run.createdAt),
    updated_at: toTimestamp(run.updatedAt),
  });
  const stored = `"output":${run.output ?? "null"},"failure":${failureJson(run.failure)},"metadata":${run.metadata ?? "{}"}`;
  return `${known.slice(0, -1)},${stored}}`;
}
