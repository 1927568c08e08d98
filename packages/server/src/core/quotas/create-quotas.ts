import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { createEventStreamQuota, type EventStreamQuota } from "./event-stream-quota.ts";
import type { Quotas } from "./quota.ts";
import { createRunQuota, type RunQuota } from "./run-quota.ts";
import { createStorageQuota, type StorageQuota } from "./storage-quota.ts";

export type QuotaContext = {
  db: Database;
  clock: Clock;
  wakes: Wakes;
  serverId: string;
  /** Whether an old snapshot of the database is held. */
  isHeld: () => boolean;
};

/** What holds environments to their quotas on one server. */
export function createQuotas(
  { db, clock, wakes, serverId, isHeld }: QuotaContext,
  byDefault: Quotas,
): { runQuota: RunQuota; eventStreamQuota: EventStreamQuota; storageQuota: StorageQuota } {
  return {
    runQuota: createRunQuota({ db, clock, isHeld }, byDefault.liveRuns),
    storageQuota: createStorageQuota(db, clock, byDefault.storedBytes),
    eventStreamQuota: createEventStreamQuota({
      ...{ db, clock, serverId, limitByDefault: byDefault.eventStreams },
      onUrgent: () => wakes.wakeLocal(wakeKeys.eventStreams),
    }),
  };
}
