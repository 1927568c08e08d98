import { LIMITS, type RunEventAttributes } from "@keelson/contract";
import type { Change } from "../executions/execution.ts";
import { applyMetadataChanges } from "../runs/metadata.ts";
import { OK, refuse, type Batch, type LeasedContent, type OperationOutcome } from "./report-batch.ts";

export function performMetadata(
  batch: Batch,
  change: Change,
  changes: Extract<LeasedContent, { kind: "metadata" }>["changes"],
): OperationOutcome {
  const { execution } = change;
  const before = execution.metadata ?? batch.policies.get(execution.runId)?.metadata ?? "{}";
  const result = applyMetadataChanges(before, changes);
  if (!result.ok) return refuse("invalid_request", result.message);
  if (Buffer.byteLength(result.metadata) > LIMITS.metadataBytes) {
    return refuse(
      "payload_too_large",
      `Metadata may be ${LIMITS.metadataBytes} bytes of JSON; this change would make it larger.`,
    );
  }
  execution.metadata = result.metadata;
  change.events.push({
    k: "metadata.updated",
    t: batch.now,
    a: execution.attemptNumber,
    x: { keys: changes.map(({ key }) => key) } satisfies RunEventAttributes["metadata.updated"],
  });
  return OK;
}
