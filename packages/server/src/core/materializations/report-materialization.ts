import type { Isolation, MaterializationStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { startWaiting } from "../processes/start-waiting.ts";
import { endMaterialization } from "./end-materialization.ts";
import { lockHeldMaterialization, requireHeld, type HeldFields } from "./lock-held-materialization.ts";
import { decideFailed, decideLive, decideStopped, decideUncommitted, isolates } from "./materialization.ts";
import { markMaterialization } from "./materialization-writes.ts";

/** What a worker says of a materialization that it has. */
export type MaterializationReport =
  | LiveWord
  | { kind: "stopped" }
  | { kind: "failed"; error: string }
  | { kind: "uncommitted"; error: string };

export type LiveWord = { kind: "live"; isolation: Isolation; starts: readonly string[] };

export type ReportingWorker = { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> };

/** `started`: of `starts`, those that are to begin. */
export type Reported = { status: MaterializationStatus; started: string[] };

/**
 * Takes a worker's word on where its materialization is. A repeat changes nothing.
 *
 * @throws DomainError `lease_lost`, `invalid_request` for an isolation that is less than what is required.
 */
export async function reportMaterialization(
  tx: Tx,
  newUuid: NewUuid,
  { workerId, workerGroupId }: ReportingWorker,
  fields: HeldFields,
  report: MaterializationReport,
  now: number,
): Promise<Reported> {
  const { materialization, workspace } = await lockHeldMaterialization(tx, workerId, fields);
  const { environmentId, id, workspaceId, status, requiredIsolation } = materialization;
  tx.wake(wakeKeys.workspace(workspaceId));
  if (report.kind === "live") {
    // What waits for it to be live is given to its worker by the poll.
    tx.wake(wakeKeys.workerWorkspaces(workerId));
  } else {
    // The workspace may be wanted again at once, and runs that wait for it may go elsewhere.
    tx.wake(wakeKeys.workspaceWork(workerGroupId));
    tx.wake(wakeKeys.work(workerGroupId));
  }
  switch (report.kind) {
    case "live": {
      const decision = requireHeld(decideLive(status));
      if (decision.kind === "move") {
        if (!isolates(report.isolation, requiredIsolation)) {
          throw invalidRequest([
            {
              path: "isolation",
              message: `must be ${requiredIsolation}; answer failed when it does not work`,
            },
          ]);
        }
        const { isolation } = report;
        await markMaterialization(tx, environmentId, id, { status: decision.to, isolation }, now);
      }
      const started = await startWaiting(tx, materialization, report.starts, now);
      return { status: decision.kind === "move" ? decision.to : status, started };
    }
    case "stopped": {
      const decision = requireHeld(decideStopped(status));
      if (decision.kind === "none") return { status, started: [] };
      await endMaterialization(tx, newUuid, environmentId, id, { status: "stopped" }, now);
      return { status: decision.to, started: [] };
    }
    case "failed": {
      const decision = requireHeld(decideFailed(status));
      if (decision.kind === "none") return { status, started: [] };
      const { error } = report;
      await endMaterialization(tx, newUuid, environmentId, id, { status: "failed", error }, now);
      return { status: decision.to, started: [] };
    }
    case "uncommitted": {
      requireHeld(decideUncommitted(status));
      // What is being deleted is wanted by nobody.
      if (workspace.status === "deleting") {
        await endMaterialization(tx, newUuid, environmentId, id, { status: "stopped" }, now);
        return { status: "stopped", started: [] };
      }
      // Said again, it may be for another reason.
      const { error } = report;
      await markMaterialization(tx, environmentId, id, { status: "uncommitted", error }, now);
      return { status: "uncommitted", started: [] };
    }
  }
}
