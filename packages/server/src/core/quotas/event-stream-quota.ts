import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import { createBatcher } from "../../db/batcher.ts";
import type { Database } from "../../db/pool.ts";
import { hasRoom } from "./quota.ts";
import { tooManyStreams } from "./quota-refusals.ts";
import { exchangeEventStreams } from "./quota-writes.ts";

/**
 * Open event streams of environments over all servers. Each server says how many it has and hears of the others every
 * second, and before it opens one where it knows nothing or would refuse.
 */
export type EventStreamQuota = {
  /**
   * @param environmentId null: of no environment
   * @returns what is to be called when the stream has ended.
   * @throws DomainError `rate_limited`
   */
  enter(environmentId: Uuid<"env"> | null): Promise<() => void>;
  /** Exchanges counts with the other servers. */
  exchange(): Promise<void>;
};

type Here = { open: number; limit: number; others: number; saidAt: number; said: number };

/** Said again within this time, so that the others believe it. */
const TRUSTED_MS = 2_000;
const REFUSAL_TRUSTED_MS = 100;
const URGENT_SHARE = 0.25;

export type EventStreamContext = {
  db: Database;
  clock: Clock;
  serverId: string;
  limitByDefault: number;
  /** Asks for an exchange at once. */
  onUrgent: () => void;
};

export function createEventStreamQuota(context: EventStreamContext): EventStreamQuota {
  const { clock, limitByDefault, onUrgent } = context;
  const here = new Map<Uuid<"env">, Here>();

  const batcher = createBatcher<Uuid<"env">, void>({
    maxItems: 500,
    maxInFlight: 1,
    run: async (environmentIds) => {
      await exchangeWith(context, here, [...new Set(environmentIds)]);
      return environmentIds.map(() => ({ ok: true, value: undefined }));
    },
  });

  const entryOf = (environmentId: Uuid<"env">): Here => {
    const entry = here.get(environmentId) ?? {
      ...{ open: 0, limit: limitByDefault, others: 0, saidAt: Number.NEGATIVE_INFINITY, said: 0 },
    };
    here.set(environmentId, entry);
    return entry;
  };

  const leaverOf = (entry: Here): (() => void) => {
    let left = false;
    return () => {
      if (!left) entry.open -= 1;
      left = true;
    };
  };

  return {
    enter: async (environmentId) => {
      if (environmentId === null) return () => undefined;
      const entry = entryOf(environmentId);
      // Its place is taken before the database is asked: others that come meanwhile see it.
      entry.open += 1;
      const leave = leaverOf(entry);
      try {
        const age = clock() - entry.saidAt;
        // Also said in a future that a clock set back has taken away.
        if (age < 0 || age > TRUSTED_MS || (isOver(entry) && age > REFUSAL_TRUSTED_MS))
          await batcher.submit(environmentId);
        if (isOver(entry)) throw tooManyStreams(entry.limit);
        if (isUrgent(entry)) onUrgent();
        return leave;
      } catch (error) {
        leave();
        throw error;
      }
    },
    exchange: async () => {
      if (here.size > 0) await exchangeWith(context, here, [...here.keys()]);
    },
  };
}

const isOver = ({ limit, open, others }: Here): boolean => !hasRoom(limit, open - 1 + others);

const isUrgent = ({ limit, open, said, others }: Here): boolean =>
  limit > 0 && open - said >= (limit - said - others) * URGENT_SHARE;

async function exchangeWith(
  { db, clock, serverId, limitByDefault }: EventStreamContext,
  here: Map<Uuid<"env">, Here>,
  environmentIds: readonly Uuid<"env">[],
): Promise<void> {
  const open = new Map(environmentIds.map((id) => [id, here.get(id)?.open ?? 0]));
  const saidAt = clock();
  // Said again every second: it needs no disk, and no standby.
  const told = await db.transaction((tx) => exchangeEventStreams(tx, serverId, open), {
    durability: "relaxed",
  });
  for (const { environmentId, limit, others } of told) {
    const entry = here.get(environmentId);
    if (entry === undefined) continue;
    const said = open.get(environmentId) ?? 0;
    Object.assign(entry, { limit: limit ?? limitByDefault, others, saidAt, said });
    // Said to be none: nothing is left to tell.
    if (entry.open === 0 && said === 0) here.delete(environmentId);
  }
}
