import type { DurableRun } from "./runtime/durable/durable-run.ts";
import { UsageError } from "./keelson-error.ts";

/** Whose code is running: the run, and the step when it is inside one. */
export type CurrentRun = {
  run: DurableRun;
  step: string | null;
  /** Names the next message that the try of the step writes, the same in each try; null outside of a step. */
  nameMessage: (() => string) | null;
};

/** What is used of Node's AsyncLocalStorage. Written out, so that the types need none of Node. */
type RunStorage = {
  run<T>(current: CurrentRun, fn: () => T): T;
  getStore(): CurrentRun | undefined;
};

/** Finds the run that a durable call belongs to; `what` is the call in messages. Throws where there is none. */
export type LocateRun = (what: string) => CurrentRun;

/**
 * The storage is the runtime's and held on globalThis: this module is also loaded where there is no Node, and two copies
 * of the SDK in one bundle find the same run.
 */
const KEY = Symbol.for("keelson.current-run.v1");
const holder = globalThis as { [KEY]?: RunStorage };

/** The runtime says once how the current run is kept. */
export function provideRunStorage(create: () => RunStorage): void {
  holder[KEY] ??= create();
}

/** Whether this is the code of a bundle, which a worker runs; its runtime is loaded before it. */
export const isInBundle = (): boolean => holder[KEY] !== undefined;

/** Calls `fn` as code of that run. */
export function runInside<T>(current: CurrentRun, fn: () => T): T {
  const storage = holder[KEY];
  if (storage === undefined) throw new UsageError("the runtime of this bundle was not loaded");
  return storage.run(current, fn);
}

export const findCurrentRun = (): CurrentRun | undefined => holder[KEY]?.getStore();

/** Throws a UsageError outside of a run. */
export const locateCurrentRun: LocateRun = (what) => {
  const current = findCurrentRun();
  if (current === undefined)
    throw new UsageError(
      `${what} works only inside the code of a run, which a worker executes. Outside of a run use a Client.`,
    );
  return current;
};

/** Throws a UsageError inside a step, where the call would have an effect that the step's outcome does not hold. */
export function locateOutsideStep(locate: LocateRun, what: string): DurableRun {
  const { run, step } = locate(what);
  if (step !== null)
    throw new UsageError(
      `${what} was called inside the step "${step}": a step is done again when it is interrupted, so move the call out of it, before or after.`,
    );
  return run;
}
