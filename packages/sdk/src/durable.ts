import { locateCurrentRun, type LocateRun } from "./current-run.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { createStep, type Step } from "./step.ts";
import { createTokens, type Tokens } from "./tokens.ts";
import { createValues, type Values } from "./values.ts";
import { createWait, type Wait } from "./wait.ts";

/** The durable calls, as functions of the package and as members of a run's context. */
export type DurableCalls = Values & {
  /** As the function `step`, for this run. */
  step: Step;
  /** As `wait`, for this run. */
  wait: Wait;
  /** As `tokens`, for this run. */
  tokens: Tokens;
  /** As `sessions`, for this run. */
  sessions: Sessions;
};

export const createDurableCalls = (locate: LocateRun): DurableCalls => ({
  ...createValues(locate),
  step: createStep(locate),
  wait: createWait(locate),
  tokens: createTokens(locate),
  sessions: createSessions(locate),
});

// Of the run whose code is running. Each throws an Error outside of a run.
const calls = createDurableCalls(locateCurrentRun);

/** Runs a function once per run and stores its result: see `Step`. Throws a UsageError outside of a run. */
export const step: Step = calls.step;

/** Waits for a time without holding a slot: see `Wait`. Throws a UsageError outside of a run. */
export const wait: Wait = calls.wait;

/** Makes tokens and waits for their completion: see `Tokens`. Throws a UsageError outside of a run. */
export const tokens: Tokens = calls.tokens;

/** Sends to other sessions of the environment: see `Sessions`. Throws a UsageError outside of a run. */
export const sessions: Sessions = calls.sessions;

/** The time. The run's journal stores it, so a replay returns the same time. Throws a UsageError outside of a run. */
export const now: () => Date = calls.now;

/** A random number from 0 up to 1, stored like the time. Throws a UsageError outside of a run. */
export const random: () => number = calls.random;

/** A random UUID (version 4), stored like the time. Throws a UsageError outside of a run. */
export const uuid: () => string = calls.uuid;
