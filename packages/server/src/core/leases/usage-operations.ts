import type { Change } from "../executions/execution.ts";
import { OK, type Batch, type LeasedOperation, type OperationOutcome } from "./report-batch.ts";

/** What calls of models used is added to what the run has used. */
export function performUsage(
  { usage }: Batch,
  { execution: { environmentId, runId } }: Change,
  { used = [] }: LeasedOperation,
): OperationOutcome {
  for (const one of used) usage.push({ environmentId, runId, ...one });
  return OK;
}
