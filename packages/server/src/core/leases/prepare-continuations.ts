import type { Queryable } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { listContinuingRuns, type ContinuingRun } from "../executions/continuation-reads.ts";
import { checkPayload } from "../runs/resolve-start.ts";
import type { LeasedOperation, PreparedContinuation } from "./report-batch.ts";

export type ContinuationContext = { db: Queryable; deployments: DeploymentCache };

export const isContinuation = ({ operation }: LeasedOperation): boolean =>
  operation.kind === "release" && operation.outcome === "continued";

/**
 * Checks what runs are to continue with, before the transaction in which they do: deployments are read here, and a schema
 * takes its time.
 */
export async function prepareContinuations(
  context: ContinuationContext,
  operations: readonly LeasedOperation[],
): Promise<LeasedOperation[]> {
  const continuing = operations.filter(isContinuation);
  if (continuing.length === 0) return [...operations];
  const runs = new Map((await listContinuingRuns(context.db, continuing)).map((run) => [run.runId, run]));
  return Promise.all(
    operations.map(async (leased) => {
      const run = isContinuation(leased) ? runs.get(leased.runId) : undefined;
      // Nobody holds a lease of a run that is not there.
      return run === undefined ? leased : { ...leased, continuation: await prepare(context, leased, run) };
    }),
  );
}

async function prepare(
  { deployments }: ContinuationContext,
  { operation }: LeasedOperation,
  run: ContinuingRun,
): Promise<PreparedContinuation> {
  if (operation.kind !== "release") throw new Error("Only a release continues a run.");
  const { payload } = operation;
  const { environmentId, deploymentId, entrypointKind: kind, entrypoint, workspaceId } = run;
  if (kind === "actor")
    return payload === undefined
      ? { payload: null, workspaceId }
      : {
          refusal:
            "A turn of an actor continues without a payload: keep what it needs in the session's state.",
        };
  const deployment = await deployments.byId(environmentId, deploymentId);
  const declared = deployment?.tasks.get(entrypoint);
  if (declared === undefined) throw new Error(`The deployment of run ${run.runId} is gone.`);
  try {
    return { payload: checkPayload(declared, payload), workspaceId };
  } catch (error) {
    // A busy server decides nothing about the run: the report is sent again.
    if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
    return { refusal: `The run cannot continue. ${error.message}` };
  }
}
