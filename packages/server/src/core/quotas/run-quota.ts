import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { tooManyRuns } from "./quota-refusals.ts";
import { listRunUses } from "./quota-reads.ts";
import { createSharedUses } from "./shared-uses.ts";

/** Throws DomainError `rate_limited`, or rejects with it, when an environment has as many live runs as it may. */
export type AdmitRun = (environmentId: Uuid<"env">) => void | Promise<void>;

export type RunQuota = {
  admit: AdmitRun;
  /** For starts in an open transaction. */
  within(tx: Tx): AdmitRun;
  /** For a start that says by `end` when its run is stored, or will not be. */
  begin: AdmitRun;
  end(environmentId: Uuid<"env">): void;
};

const TRUSTED_MS = 1_000;
/** While dead rows cannot be removed: each read steps over all that the counts have been. */
const TRUSTED_HELD_MS = 5_000;

/** @param isHeld whether an old snapshot of the database is held */
export function createRunQuota(
  { db, clock, isHeld }: { db: Queryable; clock: Clock; isHeld: () => boolean },
  limitByDefault: number,
): RunQuota {
  const trustedMs = (): number => (isHeld() ? TRUSTED_HELD_MS : TRUSTED_MS);
  const uses = createSharedUses({ db, clock, limitByDefault, trustedMs, list: listRunUses });
  const check = (environmentId: Uuid<"env">, taken: boolean): void => {
    if (!taken) throw tooManyRuns(uses.known(environmentId).limit);
  };
  const settle = (environmentId: Uuid<"env">, taken: boolean | Promise<boolean>): void | Promise<void> =>
    typeof taken === "boolean"
      ? check(environmentId, taken)
      : taken.then((settled) => check(environmentId, settled));
  return {
    admit: (environmentId) => settle(environmentId, uses.take(environmentId, "stored")),
    within: (tx) => (environmentId) => settle(environmentId, uses.takeWithin(tx, environmentId, "stored")),
    begin: (environmentId) => settle(environmentId, uses.take(environmentId, "pending")),
    end: uses.settle,
  };
}

const nothing = (): void => undefined;

/** For a run that takes the place of one that has just ended. */
export const ADMITTED: RunQuota = { admit: nothing, within: () => nothing, begin: nothing, end: nothing };
