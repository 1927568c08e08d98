import { encodeId } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { LeasedExecution } from "../executions/claim-executions.ts";
import type { LeasedOperation } from "../executions/report-batch.ts";
import { reportOperations, type ReportContext } from "../executions/report-operations.ts";
import { NO_STREAM_EFFECTS, type StreamEffects } from "../streams/stream-effects.ts";
import { resolveSecrets } from "./resolve-secrets.ts";

export type SecretNeeds = { leased: LeasedExecution; names: readonly string[] };

export type GivenSecrets = {
  /** Values by run id. A run that is not in it has failed: it is not to be given to the worker. */
  values: Map<string, Record<string, string>>;
  effects: StreamEffects;
};

/**
 * Resolves the secrets of executions that were leased to a worker. One that cannot have all that it declares is ended as
 * failed, in this transaction, rather than run without them.
 */
export async function giveSecrets(
  tx: Tx,
  workerId: string,
  needs: readonly SecretNeeds[],
  context: ReportContext,
): Promise<GivenSecrets> {
  const resolved = await resolveSecrets(
    tx,
    context.masterKey,
    needs.map(({ leased: { environmentId, runId, attemptNumber }, names }) => ({
      ...{ environmentId, runId, attemptNumber, names },
    })),
    context.now,
  );
  const values = new Map<string, Record<string, string>>();
  const endings: LeasedOperation[] = [];
  for (const { leased } of needs) {
    const own = resolved.get(leased.runId);
    if (own === undefined) continue;
    if ("values" in own) values.set(leased.runId, own.values);
    else endings.push(failing(leased, own.problem, context.now));
  }
  if (endings.length === 0) return { values, effects: NO_STREAM_EFFECTS };
  const { effects } = await reportOperations(tx, workerId, endings, context);
  return { values, effects };
}

/** As the worker would say it; it has not been told of the lease and says nothing. */
function failing(leased: LeasedExecution, message: string, now: number): LeasedOperation {
  const { environmentId, runId, leaseId, epoch } = leased;
  return {
    ...{ environmentId, runId, leaseId, epoch },
    operation: {
      kind: "release",
      run_id: encodeId("run", runId),
      environment_id: encodeId("env", environmentId),
      lease_id: encodeId("lease", leaseId),
      ...{ epoch, sequence: 1, at: new Date(now).toISOString() },
      outcome: "failed",
      failure: { kind: "secret_unavailable", message, retryable: false },
    },
  };
}
