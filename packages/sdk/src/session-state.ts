import type { StandardTypedV1 } from "@standard-schema/spec";
import { LIMITS } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { StateConflictError } from "./durable-errors.ts";
import { checkData } from "./payload-schema.ts";
import { toError, type Refused } from "./runtime/durable/to-error.ts";
import { toJsonValue } from "./runtime/output.ts";
import { UsageError } from "./keelson-error.ts";

/** A state that was read or set, with its version: how often the state was set. */
export type Versioned<T> = {
  /** As the actor's schema gives it. */
  state: T;
  /** 0 while the state was never set. */
  version: number;
};

/** Options of `session.state.set()`. */
export type SetStateOptions = {
  /** Set only when the state still has this version: of `get()`, or 0 for a state that was never set. */
  ifVersion?: number;
};

/**
 * What the session remembers between its turns: one JSON value of up to 256 KiB. `Stored` is what the code sets, and
 * `State` what it reads: with a schema, its input and its output. Each call is a durable call, so none works inside a step.
 */
export type SessionStateStore<Stored = unknown, State = unknown> = {
  /**
   * Reads the state; null while it was never set. The journal keeps what was read, so a replay reads the same. Rejects with
   * `DataInvalidError` for a state that does not fit the actor's schema.
   */
  get(): Promise<Versioned<State | null>>;
  /**
   * Replaces the state, once, whatever happens to the run. Rejects with `StateConflictError` when the state has another
   * version than `ifVersion`, and with `DataInvalidError` for a value that does not fit the actor's schema.
   */
  set(value: Stored, options?: SetStateOptions): Promise<Versioned<State>>;
  /**
   * Reads the state, calls `fn` with it, and sets the result with the version that was read. When somebody else has set the
   * state meanwhile, it begins again, so no change is lost. `fn` may be called more than once: only compute in it.
   */
  update(fn: UpdateState<Stored, State>): Promise<Versioned<State>>;
};

/** Makes the next state of the present one, which is null while the state was never set. */
export type UpdateState<Stored = unknown, State = unknown> = {
  // As a method, so that code for any session takes the session of an actor with a schema.
  update(state: State | null): Stored | Promise<Stored>;
}["update"];

const WHAT = "The state of the session";

/** The refusal of a call, as the code sees it. */
function refusalOf({ error, value }: Refused): Error {
  return error.code === "state_conflict"
    ? new StateConflictError(error.message, (value as { version: number }).version)
    : toError(error);
}

function checkVersion(version: unknown): void {
  if (!Number.isSafeInteger(version) || (version as number) < 0)
    throw new UsageError(`ifVersion is ${String(version)}; it must be a version: 0, 1, 2, …`);
}

export function createSessionState(locate: LocateRun, schema: StandardTypedV1 | null): SessionStateStore {
  const get: SessionStateStore["get"] = async () => {
    const run = locateOutsideStep(locate, "session.state.get()");
    const call = (position: number) => ({ kind: "states", position, action: "get" }) as const;
    const { state, version } = (await run.effect("state", "get", call, refusalOf)) as Versioned<unknown>;
    return { state: version === 0 ? null : checkData(schema, state, WHAT), version };
  };
  const set: SessionStateStore["set"] = async (value, { ifVersion } = {}) => {
    const run = locateOutsideStep(locate, "session.state.set()");
    const stored = toJsonValue(value, WHAT, LIMITS.sessionStateBytes);
    // What is read is what JSON keeps, so that is what must fit.
    const state = checkData(schema, stored, WHAT);
    if (ifVersion !== undefined) checkVersion(ifVersion);
    const fields = {
      action: "set",
      state: stored,
      ...(ifVersion !== undefined && { expected: ifVersion }),
    } as const;
    const call = (position: number) => ({ kind: "states", position, ...fields }) as const;
    const { version } = (await run.effect("state", "set", call, refusalOf)) as { version: number };
    return { state, version };
  };
  return {
    get,
    set,
    async update(fn) {
      for (;;) {
        const { state, version } = await get();
        const next = await fn(state);
        try {
          return await set(next, { ifVersion: version });
        } catch (error) {
          if (!(error instanceof StateConflictError)) throw error;
        }
      }
    },
  };
}
