import type { TestWorker } from "./test-worker.ts";

/** Things of one test that go on beside each other in one virtual time, which goes on when none of them does. */
export class Lanes {
  readonly #worker: TestWorker;
  #count = 0;
  #waiting: PromiseWithResolvers<void>[] = [];

  constructor(worker: TestWorker) {
    this.#worker = worker;
  }

  /** Runs them, and passes time whenever all of them wait for that. */
  async run<T>(works: readonly (() => Promise<T>)[]): Promise<T[]> {
    this.#count += works.length;
    const done = await Promise.allSettled(
      works.map(async (work) => {
        try {
          return await work();
        } finally {
          this.#count -= 1;
          this.#goOn();
        }
      }),
    );
    return done.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }

  /** Resolves when time has gone on to the next thing that it brings. */
  time(): Promise<void> {
    const passed = Promise.withResolvers<void>();
    this.#waiting.push(passed);
    this.#goOn();
    return passed.promise;
  }

  #goOn(): void {
    if (this.#count === 0 || this.#waiting.length < this.#count) return;
    const waiting = this.#waiting.splice(0);
    void this.#worker.advance().then(
      () => waiting.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    );
  }
}
