import { InterruptedError } from "../../durable-errors.ts";

/** A message that goes on over steps and waits, as the run knows it. */
export type OpenMessage = {
  /** Somebody has interrupted it, as the journal has it, and it has not ended. */
  readonly interrupted: boolean;
  /** A step begins a try: what former tries of it wrote to the message counts no more. */
  beginTry(step: string, attempt: number): Promise<void>;
};

/** The messages that the code of one execution writes, and how each is stopped. */
export class RunMessages {
  /** Of messages that are one pipe. */
  readonly #pipes = new Map<string, AbortController>();
  readonly #interruptedCalls = new Set<string>();
  readonly #open = new Set<OpenMessage>();

  /** Somebody has stopped a message that is one pipe. */
  interrupt(messageId: string): void {
    this.#pipes.get(messageId)?.abort(new InterruptedError());
  }

  /**
   * Calls `write` with what is aborted when somebody interrupts the message: at once when a former try of the same `call` was
   * interrupted.
   */
  async piping<T>(
    messageId: string,
    call: string | null,
    write: (interrupt: AbortController) => Promise<T>,
  ): Promise<T> {
    const interrupt = new AbortController();
    if (call !== null && this.#interruptedCalls.has(call)) interrupt.abort(new InterruptedError());
    this.#pipes.set(messageId, interrupt);
    try {
      return await write(interrupt);
    } finally {
      this.#pipes.delete(messageId);
      if (call !== null && interrupt.signal.aborted) this.#interruptedCalls.add(call);
    }
  }

  opened(message: OpenMessage): void {
    this.#open.add(message);
  }

  ended(message: OpenMessage): void {
    this.#open.delete(message);
  }

  /** The code has begun a message over steps, and not ended it. */
  get isAnyOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The code writes a message that somebody has interrupted: it is to come to an end, and not to wait. */
  get interrupted(): boolean {
    return [...this.#open].some(({ interrupted }) => interrupted);
  }

  async beginTry(step: () => string, attempt: number): Promise<void> {
    for (const message of this.#open) await message.beginTry(step(), attempt);
  }
}
