import type { SandboxSpec, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { findHeldRun, lockHeldExecution, type HeldKey, type HeldRun } from "../executions/execution-reads.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { sandboxSpec } from "../sandboxes/sandbox.ts";
import { findWorkerIsolation } from "../workers/isolation-reads.ts";
import {
  createWorkspace,
  sandboxOrigin,
  type OriginContext,
  type WorkspaceOrigin,
} from "../workspaces/create-workspace.ts";
import { noteActivity } from "../workspaces/note-activity.ts";
import { noteHeldUse } from "../workspaces/note-use.ts";
import { requireUsable } from "../workspaces/require-workspace.ts";
import { findWorkspace, lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { decideAttach, isolates } from "./materialization.ts";
import { listMaterializationFacts, type MaterializationFacts } from "./materialization-reads.ts";
import { markLeased } from "./materialization-writes.ts";
import { createMaterialization } from "./request-materialization.ts";

export type AttachContext = OriginContext & { newUuid: NewUuid; leaseDurationMs: number };

const lost = (): DomainError =>
  new DomainError("lease_lost", "There is no such lease of an execution; stop it and report nothing for it.");

const busy = (message: string): DomainError => new DomainError("workspace_busy", message);

/**
 * Puts the workspace of a leased run on the worker that has the run, under the execution's lease. A workspace that the
 * run's task declares by a sandbox is made now; one that is live there already is shared with what works in it.
 *
 * @param key null for a lease that cannot be.
 * @throws DomainError `lease_lost`; `workspace_busy` when another worker has it, when it is being stopped, or when it needs
 * a stronger isolation; `invalid_state` when it was deleted, or the run has none.
 */
export async function attachWorkspace(
  context: AttachContext,
  key: HeldKey | null,
): Promise<MaterializationFacts> {
  const run = key === null ? null : await findHeldRun(context.db, key);
  if (key === null || run === null) throw lost();
  const { workspaceId } = run;
  if (workspaceId === null) throw new DomainError("invalid_state", "The run works in no workspace.");
  const known = await findWorkspace(context.db, key.environmentId, workspaceId);
  const origin = known === null ? await declaredOrigin(context, key, run) : null;
  const attached = await context.db.transaction((tx) =>
    attach(tx, context, key, { ...run, workspaceId }, origin),
  );
  if (attached instanceof DomainError) throw attached;
  return attached;
}

/** What the sandbox that the run's own deployment declares for it begins with. */
async function declaredOrigin(
  context: AttachContext,
  { environmentId }: HeldKey,
  run: HeldRun,
): Promise<WorkspaceOrigin> {
  const deployment = await context.deployments.byId(environmentId, run.deploymentId);
  const declared = run.entrypointKind === "task" ? deployment?.tasks : deployment?.actors;
  const sandbox = declared?.get(run.entrypoint)?.declaration.sandbox ?? null;
  if (deployment === null || sandbox === null)
    throw new DomainError("invalid_state", "The workspace of the run is gone; start it with another one.");
  const spec = sandboxSpec(deployment.sandboxes.get(sandbox) ?? null);
  return sandboxOrigin(context, environmentId, sandbox, spec);
}

/** A refusal is returned: a workspace that was made stays, and says what the run needs to whoever claims it next. */
async function attach(
  tx: Tx,
  { newUuid, clock, leaseDurationMs }: AttachContext,
  key: HeldKey,
  run: HeldRun & { workspaceId: Uuid<"ws"> },
  origin: WorkspaceOrigin | null,
): Promise<MaterializationFacts | DomainError> {
  const { environmentId, workerId } = key;
  const { workspaceId, projectId } = run;
  const now = clock();
  if (!(await lockHeldExecution(tx, key))) throw lost();
  let workspace = await lockWorkspace(tx, environmentId, workspaceId);
  if (workspace === null) {
    if (origin === null) throw new Error("A workspace vanished; its row stays while a live run names it.");
    const place = { madeFor: { id: workspaceId, runId: key.runId }, environmentId, projectId };
    const creation = { ...place, origin, externalId: null, metadata: null, tags: null, now };
    workspace = await createWorkspace(tx, newUuid, creation);
  }
  requireUsable(workspace);
  const decision = decideAttach(workspace.materializationStatus, workspace.workerId === workerId);
  if (decision.kind === "refuse") return busy(decision.message);
  const weakness = decision.kind === "join" ? null : await tooWeak(tx, workerId, workspace);
  if (weakness !== null) return weakness;
  if (decision.kind === "create")
    workspace = await createMaterialization(tx, newUuid, workspace, { now, isUse: true });
  const { materializationId: id } = workspace;
  if (id === null) throw new Error("A workspace has no materialization after it was asked for.");
  if (decision.kind === "join") await noteHeldUse(tx, environmentId, id, now);
  else await markLeased(tx, environmentId, id, { workerId, now, leaseExpiresAt: now + leaseDurationMs });
  await noteActivity(tx, environmentId, workspaceId, now);
  const [facts] = await listMaterializationFacts(tx, [{ environmentId, id }]);
  if (facts === undefined) throw new Error("A materialization is not there after it was leased.");
  tx.wake(wakeKeys.workspace(workspaceId));
  return facts;
}

/** A worker is not given what it could only answer with failed. */
async function tooWeak(
  tx: Tx,
  workerId: Uuid<"wkr">,
  { sandboxSpec: text }: WorkspaceRow,
): Promise<DomainError | null> {
  const { isolation } = JSON.parse(text) as SandboxSpec;
  const has = (await findWorkerIsolation(tx, workerId)) ?? "process";
  if (isolates(has, isolation)) return null;
  return busy(`The workspace needs the isolation ${isolation}; hand the run back as rejected.`);
}
