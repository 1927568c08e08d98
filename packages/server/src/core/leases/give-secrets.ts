import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { LeasedExecution } from "../executions/execution.ts";
import type { LeasedOperation } from "./report-batch.ts";
import { reportOperations, type LeasesContext, type ReportContext } from "./report-operations.ts";
import { resolveSecrets, type SecretSet } from "../secrets/resolve-secrets.ts";

export type SecretNeeds = { leased: LeasedExecution; names: readonly string[] };

/**
 * Resolves the secrets of executions that were leased to a worker. One that cannot have all that it declares is ended as
 * failed, in the transaction that resolves them, rather than run without them.
 *
 * @returns the sets by run id. A run that is not in it has failed: it is not to be given to the worker.
 */
export const giveSecrets = (
  context: LeasesContext,
  workerId: Uuid<"wkr">,
  needs: readonly SecretNeeds[],
): Promise<Map<string, SecretSet>> =>
  context.db.transaction((tx) => resolveOrFail(tx, workerId, needs, { ...context, now: context.clock() }));

async function resolveOrFail(
  tx: Tx,
  workerId: Uuid<"wkr">,
  needs: readonly SecretNeeds[],
  context: ReportContext,
): Promise<Map<string, SecretSet>> {
  const resolved = await resolveSecrets(
    tx,
    context.masterKey,
    needs.map(({ leased: { environmentId, runId, attemptNumber }, names }) => ({
      ...{ environmentId, runId, attemptNumber, names },
    })),
    context.now,
  );
  const sets = new Map<string, SecretSet>();
  const endings: LeasedOperation[] = [];
  for (const { leased } of needs) {
    const own = resolved.get(leased.runId);
    if (own === undefined) continue;
    if ("values" in own) sets.set(leased.runId, own);
    else endings.push(failing(leased, own.problem, context.now));
  }
  if (endings.length > 0) await reportOperations(tx, workerId, endings, context);
  return sets;
}

/** As the worker would say it; it has not been told of the lease and says nothing. */
function failing(leased: LeasedExecution, message: string, now: number): LeasedOperation {
  const { environmentId, runId, leaseId, epoch } = leased;
  return {
    ...{ environmentId, runId, leaseId, epoch },
    operation: {
      kind: "release",
      sequence: 1,
      at: new Date(now).toISOString(),
      outcome: "failed",
      failure: { kind: "secret_unavailable", message, retryable: false },
    },
  };
}
