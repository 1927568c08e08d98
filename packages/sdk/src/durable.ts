import { locateCurrentRun, type LocateRun } from "./current-run.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { createStep, type Step } from "./step.ts";
import { createTokens, type Tokens } from "./tokens.ts";
import { createValues, type Values } from "./values.ts";
import { createWait, type Wait } from "./wait.ts";

/** The durable calls, as functions of the package and as members of a run's context. */
export type DurableCalls = Values & { step: Step; wait: Wait; tokens: Tokens; sessions: Sessions };

export const createDurableCalls = (locate: LocateRun): DurableCalls => ({
  ...createValues(locate),
  step: createStep(locate),
  wait: createWait(locate),
  tokens: createTokens(locate),
  sessions: createSessions(locate),
});

/** Of the run whose code is running. Each throws an Error outside of a run. */
export const { step, wait, tokens, sessions, now, random, uuid } = createDurableCalls(locateCurrentRun);
