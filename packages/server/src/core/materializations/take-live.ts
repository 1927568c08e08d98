import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { byId } from "../processes/start-waiting.ts";
import { markPreparedLive } from "./live-report-writes.ts";
import { heldKeyOf, type HeldFields } from "./lock-held-materialization.ts";
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
  const key = heldKeyOf(fields);
  const named = byId(word.starts);
  const said = { workerId: worker.workerId, isolation: word.isolation, starts: [...named.keys()], now };
  const taken = key === null ? null : await markPreparedLive(db, { ...key, ...said });
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
