import type { ExecuteResult } from "@keelson/contract";
import { UsageError } from "../../keelson-error.ts";
import { ContinueSignal } from "./continue-signal.ts";
import { afterTurns } from "./turn-timer.ts";

/** How long code may take to end after it has said that its run continues. */
const LEAVE_AFTER_MS = 10_000;

type Continued = Extract<ExecuteResult, { outcome: "continued" }>;

/** Whether the run is to go on with an empty journal, as its code has said. */
export class Continuing {
  #ending: Continued | null = null;
  #problem: string | null;
  readonly #leave: (ending: Continued) => void;
  #endWatch: () => void = () => undefined;

  /** @param leave ends the execution in the place of its code, which goes on although it has said so */
  constructor(mayContinue: boolean, leave: (ending: Continued) => void) {
    this.#problem = mayContinue
      ? null
      : "ctx.continueAs() is not known here: upgrade the server, and then the agent of this worker.";
    this.#leave = leave;
  }

  get ending(): Continued | null {
    return this.#ending;
  }

  /** From now on it is too late. */
  refuse(problem: string): void {
    this.#problem ??= problem;
  }

  /** Throws what ends the code. The first payload is the one that counts. */
  decide(payload: string | null): never {
    if (this.#problem !== null) throw new UsageError(this.#problem);
    if (this.#ending === null) {
      this.#ending = { outcome: "continued", payload };
      // It may wait for something that nobody brings any more.
      this.#endWatch = afterTurns(LEAVE_AFTER_MS, () => this.leaveCode());
    }
    throw new ContinueSignal();
  }

  /** @returns whether the code has said so and makes a durable call nevertheless, which then never settles */
  leaveCode(): boolean {
    if (this.#ending === null) return false;
    this.#leave({ ...this.#ending, codeLeft: true });
    return true;
  }

  /** The execution is over. */
  end(): void {
    this.#endWatch();
  }
}
