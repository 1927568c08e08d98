import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Queryable } from "../../db/queryable.ts";
import { tooManyBytes } from "./quota-refusals.ts";
import { listStorageUses } from "./quota-reads.ts";
import { addStoredBytes } from "./quota-writes.ts";
import { createSharedUses } from "./shared-uses.ts";

/** Stored bytes: whoever brings more is asked before, and what live runs write is counted, never refused. */
export type StorageQuota = {
  /** @throws DomainError `payload_too_large` when the environment stores as much as it may. */
  admit(environmentId: Uuid<"env">): Promise<void>;
  /** Bytes of records or logs that were stored, or removed when they are less than none. */
  noteAppended(environmentId: Uuid<"env">, bytes: number): void;
  /** Bytes of a blob or bundle that was stored. */
  noteStored(environmentId: Uuid<"env">, bytes: number): void;
  /** Writes what was noted of records and logs. */
  flush(db: Queryable): Promise<void>;
};

/** Blobs are added up one by one, so not every second. */
const TRUSTED_MS = 10_000;

export function createStorageQuota(db: Queryable, clock: Clock, limitByDefault: number): StorageQuota {
  const uses = createSharedUses({
    db,
    clock,
    limitByDefault,
    trustedMs: () => TRUSTED_MS,
    list: listStorageUses,
  });
  let appended = new Map<Uuid<"env">, number>();
  return {
    admit: async (environmentId) => {
      if (await uses.take(environmentId, "nothing")) return;
      const { limit, used } = uses.known(environmentId);
      throw tooManyBytes(limit, used);
    },
    noteAppended: (environmentId, bytes) => {
      appended.set(environmentId, (appended.get(environmentId) ?? 0) + bytes);
      uses.note(environmentId, bytes);
    },
    noteStored: (environmentId, bytes) => uses.note(environmentId, bytes),
    flush: async (to) => {
      if (appended.size === 0) return;
      const taken = appended;
      appended = new Map();
      try {
        await addStoredBytes(to, taken);
      } catch (error) {
        for (const [id, bytes] of taken) appended.set(id, (appended.get(id) ?? 0) + bytes);
        throw error;
      }
    },
  };
}
