import {
  encodeId,
  type HeldMaterialization,
  type LeasedMaterialization,
  type MaterializationStop,
  type SandboxSpec,
  type Uuid,
} from "@keelson/contract";
import type { MaterializationFacts } from "../../../core/materializations/materialization-reads.ts";
import type { HeldPlace, HeldWork } from "../../../core/processes/held-work.ts";
import { toTimestamp } from "../../edge/time.ts";

export function toLeasedMaterialization(facts: MaterializationFacts): LeasedMaterialization {
  const spec = JSON.parse(facts.sandboxSpec) as SandboxSpec;
  return {
    materialization_id: encodeId("mat", facts.id),
    environment_id: encodeId("env", facts.environmentId),
    epoch: facts.epoch,
    project_id: encodeId("proj", facts.projectId),
    workspace_id: encodeId("ws", facts.workspaceId),
    status: facts.status as LeasedMaterialization["status"],
    expires_at: toTimestamp(facts.leaseExpiresAt),
    base: {
      version_id: encodeId("wsv", facts.currentVersionId),
      digest: facts.digest.toString("hex"),
      manifest_digest: facts.manifestDigest.toString("hex"),
    },
    sandbox: { declared_id: facts.sandbox, ...spec },
    setup:
      facts.setupDigest === null ? null : { digest: facts.setupDigest.toString("hex"), commands: spec.setup },
  };
}

export const toMaterializationStop = (
  stop: { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number },
  isDeleted: boolean,
): MaterializationStop => ({
  materialization_id: encodeId("mat", stop.id),
  environment_id: encodeId("env", stop.environmentId),
  epoch: stop.epoch,
  mode: isDeleted ? "discard" : "commit",
});

export const toHeldPlace = (
  held: Pick<HeldMaterialization, "environment_id" | "materialization_id" | "epoch">,
): HeldPlace => ({
  environmentId: held.environment_id,
  materializationId: held.materialization_id,
  epoch: held.epoch,
});

export const toHeldWork = (held: HeldMaterialization): HeldWork => ({
  ...toHeldPlace(held),
  stopping: held.stopping,
  processes: held.processes.map((process) => ({
    processId: process.process_id,
    inputOffset: process.input_offset,
    inputClosed: process.input_closed,
    controlSequence: process.control_sequence,
  })),
});
