import { InterruptedError } from "../../durable-errors.ts";
import type { DurableRun } from "./durable-run.ts";

/** Something that the code has started and waits for. */
export type AwaitedWork = {
  /** The call at this position starts it. */
  begun(position: number): void;
  /** The outcome of a call. Rejects at once when an interrupt gives it up. */
  outcome<V>(call: Promise<V>): Promise<V>;
};

/**
 * Starts something and waits for its end. An interrupt of a message that began before gives it up: the server is asked to end what was started,
 * and the outcome that is waited for rejects. While the code writes a message that was interrupted, nothing is started.
 */
export async function untilInterrupted<T>(
  run: DurableRun,
  work: (awaited: AwaitedWork) => Promise<T>,
): Promise<T> {
  if (run.messages.interrupted) throw new InterruptedError();
  const over = Promise.withResolvers<void>();
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  interrupted.catch(() => undefined);
  const giveUp = (position: number): void => {
    run.giveUpStarted(position);
    reject(new InterruptedError());
  };
  try {
    return await work({
      begun: (position) => run.waits.onGiveUp(position, over.promise, () => giveUp(position)),
      outcome: (call) => Promise.race([call, interrupted]),
    });
  } finally {
    over.resolve();
  }
}
