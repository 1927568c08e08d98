import { decodeId, type Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { byId } from "../processes/start-waiting.ts";
import { markPreparedLive } from "./live-report-writes.ts";
import type { HeldFields } from "./lock-held-materialization.ts";
import {
  reportMaterialization,
  type LiveWord,
  type Reported,
  type ReportingWorker,
} from "./report-materialization.ts";

export type TakeLiveContext = { db: Database; wakes: Wakes; newUuid: NewUuid };

/** As `reportMaterialization`, in one statement where the worker has just prepared it. */
export async function takeLive(
  { db, wakes, newUuid }: TakeLiveContext,
  worker: ReportingWorker,
  fields: HeldFields,
  word: LiveWord,
  now: number,
): Promise<Reported> {
  const environmentId = decodeId("env", fields.environment_id);
  const materializationId = decodeId("mat", fields.materialization_id);
  const named = byId(word.starts);
  const taken =
    environmentId === null || materializationId === null
      ? null
      : await markPreparedLive(db, {
          ...{ environmentId, materializationId, workerId: worker.workerId, epoch: fields.epoch },
          ...{ isolation: word.isolation, starts: [...named.keys()], now },
        });
  if (taken === null)
    return db.transaction((tx) => reportMaterialization(tx, newUuid, worker, fields, word, now));
  wakes.wake(wakeKeys.workspace(taken.workspaceId));
  wakes.wake(wakeKeys.workerWorkspaces(worker.workerId));
  for (const id of taken.started) wakes.wake(wakeKeys.process(id));
  return {
    status: "live",
    started: taken.started.map((id: Uuid<"exec" | "pty">) => named.get(id) as string),
  };
}
