import { chooseUid } from "../sandboxes/sandbox.ts";
import type { IsolationProbe } from "../sandboxes/probe-isolation.ts";
import {
  adoptSupervisor,
  startSupervisor,
  type ProcessSpec,
  type Supervisor,
  type SupervisorPlace,
} from "../supervisor/supervisor.ts";
import { existsSync } from "node:fs";
import type { SpareSupervisor } from "../supervisor/spare-supervisor.ts";
import { supervisorFolder } from "../supervisor/supervisor-folder.ts";
import type { LeasedMaterialization } from "@keelson/contract";
import type { Owner } from "@keelson/workspace-tree";

/** A supervisor outlives the lease a little: while the server waits for the agent, so does it. */
const ORPHAN_MARGIN_MS = 5_000;

export type SupervisionOptions = {
  place: SupervisorPlace;
  leased: LeasedMaterialization;
  root: string;
  probe: IsolationProbe;
  diskBytes: number;
  spares: SpareSupervisor;
  leaseDurationMs: number;
  onGiven(): void;
  first(): ProcessSpec[];
};

/** Always the strongest isolation that works here, which is at least what the sandbox asks for, or nothing is started. */
export const superviseWorkspace = (options: SupervisionOptions): Promise<Supervisor> => {
  const { place, leased, root, probe, spares, diskBytes, leaseDurationMs, onGiven, first } = options;
  const { env, network, resources } = leased.sandbox;
  return startSupervisor({
    ...{ ...place, spares, onGiven, first },
    surroundings: { isolation: requireIsolation(probe, leased), root, env, network, resources },
    limits: { diskBytes },
    orphanTimeoutMs: leaseDurationMs + ORPHAN_MARGIN_MS,
  });
};

function requireIsolation(
  probe: IsolationProbe,
  { sandbox }: LeasedMaterialization,
): IsolationProbe["isolation"] {
  if (sandbox.isolation === "namespace" && probe.isolation !== "namespace")
    throw new Error(
      `The sandbox asks for isolation by namespaces, and this worker has none. ${probe.problems.join(" ")}`,
    );
  return probe.isolation;
}

/** Whom the workspace's files belong to; null: whoever runs the agent. */
export function ownerOf(probe: IsolationProbe, materializationId: string): Owner | null {
  const uid = chooseUid(probe.means, probe, materializationId);
  return uid === null ? null : { uid, gid: uid };
}

/**
 * Ends what a former process of the agent left running. A supervisor's folder is there before it is started, and goes after all
 * that it ran has ended.
 */
export async function endFormer(place: SupervisorPlace): Promise<void> {
  if (!existsSync(supervisorFolder(place.dataDir, place.materializationId))) return;
  const former = await adoptSupervisor(place);
  await former?.stop();
}
