import { wakeKeys } from "../core/feeds/wake-keys.ts";
import type { EventStreamQuota } from "../core/quotas/event-stream-quota.ts";
import { deleteOldEventStreams } from "../core/quotas/quota-writes.ts";
import type { StorageQuota } from "../core/quotas/storage-quota.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

export type QuotaLoopContext = {
  db: Database;
  storageQuota: StorageQuota;
  eventStreamQuota: EventStreamQuota;
};

/** Tells the other servers what this one has open, and writes what it has counted. */
export const quotaLoops = ({ db, storageQuota, eventStreamQuota }: QuotaLoopContext): LoopWork[] => [
  {
    name: "exchange-event-streams",
    intervalMs: 1_000,
    wakeKey: wakeKeys.eventStreams,
    run: () => eventStreamQuota.exchange(),
  },
  { name: "purge-event-streams", intervalMs: 60_000, run: () => deleteOldEventStreams(db) },
  { name: "write-stored-bytes", intervalMs: 1_000, run: () => storageQuota.flush(db) },
];
