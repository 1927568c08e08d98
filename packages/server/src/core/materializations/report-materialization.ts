import type { Isolation, MaterializationStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { endMaterialization } from "./end-materialization.ts";
import { lockHeldMaterialization, requireHeld, type HeldFields } from "./lock-held-materialization.ts";
import { decideFailed, decideLive, decideStopped, isolates } from "./materialization.ts";
import { markMaterialization } from "./materialization-writes.ts";

/** What a worker says of a materialization that it has. */
export type MaterializationReport =
  | { kind: "live"; isolation: Isolation }
  | { kind: "stopped" }
  | { kind: "failed"; error: string };

export type Reported = { workspaceId: string; status: MaterializationStatus };

/**
 * Takes a worker's word on where its materialization is. A repeat changes nothing.
 *
 * @throws DomainError `lease_lost`, `invalid_request` for an isolation that is less than what is required.
 */
export async function reportMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  workerId: string,
  fields: HeldFields,
  report: MaterializationReport,
  now: number,
): Promise<Reported> {
  const { materialization } = await lockHeldMaterialization(tx, workerId, fields);
  const { environmentId, id, workspaceId, status, requiredIsolation } = materialization;
  switch (report.kind) {
    case "live": {
      const decision = requireHeld(decideLive(status));
      if (decision.kind === "none") return { workspaceId, status };
      if (!isolates(report.isolation, requiredIsolation)) {
        throw invalidRequest([
          { path: "isolation", message: `must be ${requiredIsolation}; answer failed when it does not work` },
        ]);
      }
      const { isolation } = report;
      await markMaterialization(tx, environmentId, id, { status: decision.to, isolation }, now);
      return { workspaceId, status: decision.to };
    }
    case "stopped": {
      const decision = requireHeld(decideStopped(status));
      if (decision.kind === "none") return { workspaceId, status };
      await endMaterialization(tx, newUuid, environmentId, id, { status: "stopped" }, now);
      return { workspaceId, status: decision.to };
    }
    case "failed": {
      const decision = requireHeld(decideFailed(status));
      if (decision.kind === "none") return { workspaceId, status };
      const { error } = report;
      await endMaterialization(tx, newUuid, environmentId, id, { status: "failed", error }, now);
      return { workspaceId, status: decision.to };
    }
  }
}
