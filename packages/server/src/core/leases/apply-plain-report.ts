import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { WrittenExecutions } from "../executions/written-executions.ts";
import { movesSlots, settleIfUnchanged } from "../executions/settle-changes.ts";
import { applyOperation } from "./decide-operations.ts";
import { distinctRuns, NO_FACTS } from "./durable-facts.ts";
import { storedBytesOf, type LeasedOperation } from "./report-batch.ts";
import { beginBatch, type ReportContext, type ReportResult } from "./report-operations.ts";

export type PlainContext = ReportContext & { db: Database; writtenExecutions: WrittenExecutions };

/** Whether nothing but the live row of its run decides an operation, and nothing is written but that row and what is added to it. */
export function isPlain({ operation }: LeasedOperation): boolean {
  switch (operation.kind) {
    case "start":
    case "logs":
    case "events":
      return true;
    case "steps":
      return operation.entries.every(({ kind }) => kind !== "wait");
    case "release":
      return operation.outcome === "succeeded";
    default:
      return false;
  }
}

/**
 * Applies a report in one statement, where this server knows the rows of its runs and they are still as it knows them. That is so of a
 * run that makes one step after the other: its row was written by the report before.
 *
 * @returns null when the report is for a transaction to decide; then nothing was written
 */
export async function applyPlainReport(
  context: PlainContext,
  workerId: Uuid<"wkr">,
  operations: readonly LeasedOperation[],
): Promise<ReportResult | null> {
  const { db, writtenExecutions } = context;
  const keys = distinctRuns(operations);
  const known = operations.every(isPlain) ? writtenExecutions.take(keys) : null;
  if (known === null) {
    writtenExecutions.forget(keys);
    return null;
  }
  const executions = known.map(({ execution }) => execution);
  const batch = beginBatch(context, workerId, operations, { executions, sources: NO_FACTS });
  const outcomes = operations.map((operation, index) => applyOperation(batch, operation, index));
  const changes = [...batch.changes.values()];
  // Refused, or repeated, or the end of a run whose slot another one gets.
  if (outcomes.some(({ ok }) => !ok) || changes.some((change) => !change.dirty || movesSlots(change)))
    return null;
  const versions = new Map(known.map(({ execution, version }) => [execution.runId, version]));
  const version = await settleIfUnchanged(
    db,
    changes,
    { logs: batch.logs, journal: batch.journal },
    versions,
  );
  if (version === null) return null;
  writtenExecutions.keep(
    changes.filter(({ ending }) => ending === null).map(({ execution }) => execution),
    version,
  );
  return { outcomes, storedBytes: storedBytesOf(batch), appended: [], admittedIn: [], written: [] };
}
