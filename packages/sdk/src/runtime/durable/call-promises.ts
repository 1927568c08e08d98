/** A promise for the code, and how it is settled. */
export type Settle<T> = { promise: Promise<T>; resolve(value: T): void; reject(error: Error): void };

/** What the code waits for: an abort, or the failure of the run, rejects all of it. */
export class CallPromises {
  readonly #rejects = new Set<(error: Error) => void>();

  open<T>(): Settle<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Code that does not look at an outcome does not end the process by it.
    promise.catch(() => undefined);
    const settle: Settle<T> = {
      promise,
      resolve: (value) => {
        this.#rejects.delete(settle.reject);
        resolve(value);
      },
      reject: (error) => {
        this.#rejects.delete(settle.reject);
        reject(error);
      },
    };
    this.#rejects.add(settle.reject);
    return settle;
  }

  rejectAll(error: Error): void {
    for (const reject of [...this.#rejects]) reject(error);
  }
}
