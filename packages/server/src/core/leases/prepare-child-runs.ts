import type { DurableError } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache, DeploymentLookups } from "../entrypoints/deployment-cache.ts";
import { distinctRuns } from "./durable-facts.ts";
import type { LeasedOperation, PreparedChild } from "./report-batch.ts";
import type { RunQuota } from "../quotas/run-quota.ts";
import { checkStartWorkspace } from "../workspaces/check-start-workspace.ts";
import { NO_LINKS } from "../runs/new-run.ts";
import { listParents, type Parent } from "../runs/parent-reads.ts";
import { resolveStart } from "../runs/resolve-start.ts";

export type ChildRunContext = {
  db: Queryable;
  deployments: DeploymentCache;
  runQuota: RunQuota;
  newUuid: NewUuid;
};

/**
 * Resolves the runs that leased runs call for, before the transaction that inserts them: deployments are read here. A
 * child belongs to its parent's deployment, so that both are of the same code.
 */
export async function prepareChildRuns(
  context: ChildRunContext,
  operations: readonly LeasedOperation[],
  now: number,
): Promise<LeasedOperation[]> {
  const calls = operations.filter(({ operation }) => operation.kind === "child-runs");
  if (calls.length === 0) return [...operations];
  // Once each: a run that fans out calls for hundreds at once.
  const rows = await listParents(context.db, distinctRuns(calls));
  const parents = new Map(rows.map((parent) => [parent.runId, parent]));
  return Promise.all(
    operations.map(async (leased) =>
      leased.operation.kind === "child-runs"
        ? { ...leased, child: await prepare(context, leased, parents.get(leased.runId), now) }
        : leased,
    ),
  );
}

async function prepare(
  { db, deployments, runQuota, newUuid }: ChildRunContext,
  { operation }: LeasedOperation,
  parent: Parent | undefined,
  now: number,
): Promise<PreparedChild> {
  if (operation.kind !== "child-runs") throw new Error("Only a child run is prepared.");
  // Nobody holds a lease of a run that is not there: the operation is refused whatever is prepared.
  if (parent === undefined) return { refusal: errorOf("not_found", "The calling run is gone.") };
  const { kind: _kind, sequence: _sequence, at: _at, position: _position, task, ...body } = operation;
  try {
    await checkStartWorkspace(db, parent.environmentId, body.workspace_id, { kind: "use", now });
    const request = {
      ...parent,
      kind: "task" as const,
      entrypoint: task,
      body: { ...body, deployment_version: body.deployment_version ?? parent.deploymentVersion },
      links: { ...NO_LINKS, parentRunId: parent.runId },
      idempotencyKey: null,
      clientVersion: null,
      cliVersion: null,
    };
    const sources = { deployments: lookupsFrom(parent, deployments), admit: runQuota.admit };
    return { run: await resolveStart(sources, request, newUuid, now) };
  } catch (error) {
    // A busy server decides nothing about the run: the report is sent again.
    if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
    return { refusal: errorOf(error.code, error.message) };
  }
}

/** The parent's own deployment is there as long as the parent is, so of many children none asks which one a version is. */
const lookupsFrom = (parent: Parent, deployments: DeploymentCache): DeploymentLookups => ({
  ...deployments,
  byVersion: (environmentId, version) =>
    version === parent.deploymentVersion
      ? deployments.byId(environmentId, parent.deploymentId)
      : deployments.byVersion(environmentId, version),
});

const errorOf = (code: string, message: string): DurableError => ({
  name: "StartError",
  message,
  stack: null,
  code,
});
