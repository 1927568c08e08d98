import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { StorageQuota } from "../quotas/storage-quota.ts";
import { prepareContinuations } from "./prepare-continuations.ts";
import { prepareChildRuns } from "./prepare-child-runs.ts";
import { applyPlainReport, isPlain, type PlainContext } from "./apply-plain-report.ts";
import { createLoans, type LoanContext } from "./loans.ts";
import type { LeasedOperation } from "./report-batch.ts";
import { reportOperations, type ReportResult } from "./report-operations.ts";

type ApplyContext = Omit<PlainContext, "now" | "sentAt"> & LoanContext;

/**
 * Applies what a worker reports, in one statement or in one transaction. It is flushed even when it is logs alone: the answer lets the
 * worker forget them, and a lease whose applied operations were undone by a crash of PostgreSQL could not go on, because the worker's
 * next sequence would leave a gap.
 */
export async function applyReport(
  context: ApplyContext & { storageQuota: StorageQuota },
  workerId: Uuid<"wkr">,
  operations: readonly LeasedOperation[],
  sentAt: number | null,
): Promise<ReportResult> {
  const plain = await applyPlainReport({ ...context, now: context.clock(), sentAt }, workerId, operations);
  const result = plain ?? (await applyInTransaction(context, workerId, operations, sentAt));
  for (const [environmentId, bytes] of result.storedBytes)
    context.storageQuota.noteAppended(environmentId, bytes);
  return result;
}

/**
 * The transaction is opened here, because the runs that leased runs call for, and what they continue with, are resolved before it.
 */
async function applyInTransaction(
  context: ApplyContext,
  workerId: Uuid<"wkr">,
  operations: readonly LeasedOperation[],
  sentAt: number | null,
): Promise<ReportResult> {
  const prepared = await prepareContinuations(
    context,
    await prepareChildRuns(context, operations, context.clock()),
  );
  const loans = createLoans(context);
  const report = async (tx: Tx): Promise<ReportResult> => {
    // The transaction may be run again.
    loans.giveBack();
    const applied = await reportOperations(tx, workerId, prepared, {
      ...context,
      now: context.clock(),
      sentAt,
    });
    await loans.lend(tx, applied.admittedIn);
    return applied;
  };
  const result = await context.db.transaction(report).catch((error: unknown) => {
    loans.giveBack();
    throw error;
  });
  await loans.deliver();
  const [first] = result.written;
  // Others may write a row once more after the changes that they decide.
  if (first !== undefined && operations.every(isPlain))
    context.writtenExecutions.keep(result.written, first.nextVersion);
  return result;
}
