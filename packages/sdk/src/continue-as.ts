import { LIMITS } from "@keelson/contract/plain";
import type { RunContext } from "./context.ts";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { UsageError } from "./keelson-error.ts";
import { toJsonValue } from "./runtime/output.ts";

/** A payload that may be absent may be left out. */
type ContinueArguments<Input> = undefined extends Input ? [payload?: Input] : [payload: Input];

/** The second argument of a task's `run`. `Input` is the type of the task's payload. */
export type TaskContext<Input = unknown> = RunContext & {
  /**
   * Continues the run with an empty journal and this payload, a second later: for a loop that makes more durable calls than
   * one journal holds. The run keeps its id, session, workspace, metadata, logs and child runs, and whoever waits for it
   * goes on waiting. Waits that the code still has open are dropped. The new payload is checked as that of a start, and one
   * that does not fit fails the run.
   *
   * Never returns: it throws. Write `return ctx.continueAs(payload)`, and do not catch what it throws. When the code catches
   * it, the run continues nevertheless, and no durable call happens after it. Throws a UsageError inside a step, in
   * `onFailure`, while a message of the run is open, and for a payload that is not JSON or has more than 512 KiB.
   */
  continueAs(...args: ContinueArguments<Input>): never;
};

/** The second argument of an actor's `run`. */
export type ActorContext = RunContext & {
  /**
   * Continues the turn with an empty journal, a second later: for a turn that makes more durable calls than one journal
   * holds. What was received stays received. Keep what the code needs next in `session.state`. Otherwise as `continueAs()` of
   * a task.
   */
  continueAs(): never;
};

const CALL = "ctx.continueAs()";

/** The method of a context: a task goes on with a payload, and a turn of an actor with none. */
export const createContinueAs =
  (locate: LocateRun, takesPayload: boolean) =>
  (payload?: unknown): never => {
    const run = locateOutsideStep(locate, CALL);
    if (!takesPayload && payload !== undefined)
      throw new UsageError(
        `${CALL} of an actor takes no payload. Keep what the code needs in \`session.state\`.`,
      );
    const value = toJsonValue(payload, `The payload of ${CALL}`, LIMITS.payloadBytes);
    return run.continueAs(payload === undefined ? null : JSON.stringify(value));
  };
