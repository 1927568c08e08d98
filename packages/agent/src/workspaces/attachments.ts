import { pause } from "../pause.ts";

/** A workspace that a run is to work in, or works in, is let go of, or lost. */
export class WorkspaceGone extends Error {
  override readonly name = "WorkspaceGone";
}

/** The runs that work in one workspace, like shells in one folder. */
export class Attachments {
  readonly #gone = Promise.withResolvers<void>();
  /** Of processes whose end is waited for. */
  readonly #ends = new Map<string, AbortController>();
  #count = 0;
  #whenNone: (() => void)[] = [];

  /** Resolves when they are to stop, because the workspace is let go of or lost. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  get some(): boolean {
    return this.#count > 0;
  }

  /** One more; what is returned takes it away again. */
  add(): () => void {
    this.#count += 1;
    let isAdded = true;
    return () => {
      if (!isAdded) return;
      isAdded = false;
      this.#count -= 1;
      if (this.#count === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
    };
  }

  /** The server knows that a process of the workspace has ended. */
  tellEnd(processId: string): void {
    this.#ends.get(processId)?.abort();
    this.#ends.delete(processId);
  }

  /** Resolves at that, after so long, or when the signal is aborted. */
  async untilEnd(processId: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const ended = this.#ends.get(processId) ?? new AbortController();
    this.#ends.set(processId, ended);
    await pause(timeoutMs, AbortSignal.any([signal, ended.signal]));
    if (this.#ends.get(processId) === ended) this.#ends.delete(processId);
  }

  end(): void {
    this.#gone.resolve();
  }

  none(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenNone.push(resolve));
  }
}
