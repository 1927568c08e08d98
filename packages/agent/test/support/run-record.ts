import type { Execution, Operation } from "@keelson/contract";

export type Release = Extract<Operation, { kind: "release" }>;

/** One run of a test: what its worker has reported of it and the server has accepted, and promises of what will be. */
export class RunRecord {
  /** Those of the present lease; of the last one when the run's attempt has ended. */
  operations: Operation[] = [];
  /** What the server answered to them. */
  results: unknown[] = [];
  /** Its lease was released as suspended, and no other was given since. */
  isSuspended = false;
  /** The end of its first attempt. */
  release: Release | null = null;
  readonly #leased = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<Release>();
  readonly leased: Promise<void> = this.#leased.promise;
  readonly released: Promise<Release> = this.#released.promise;
  readonly #onOutput = new Set<() => void>();
  #execution: Execution | null = null;

  /** As it was leased. */
  get execution(): Execution {
    if (this.#execution === null) throw new Error("The run has not been leased.");
    return this.#execution;
  }

  get isLeased(): boolean {
    return this.#execution !== null;
  }

  /** The code waits, and its slot is free. */
  get isParked(): boolean {
    const at = this.operations.findLastIndex(({ kind }) => kind === "waits");
    return at >= 0 && (this.results[at] as { parked: boolean }).parked;
  }

  /** The result of the operation of that kind. */
  resultOf(kind: Operation["kind"]): unknown {
    return this.results[this.operations.findIndex((operation) => operation.kind === kind)];
  }

  noteLease(execution: Execution): void {
    if (this.release !== null || this.#execution?.lease_id === execution.lease_id) return;
    this.#execution = execution;
    this.operations = [];
    this.results = [];
    this.isSuspended = false;
    this.#leased.resolve();
  }

  /** An operation that the server has accepted. One that is sent again is not another one. */
  noteOperation(operation: Operation, result: unknown): void {
    if (operation.lease_id !== this.#execution?.lease_id || operation.sequence <= this.operations.length)
      return;
    this.operations.push(operation);
    this.results.push(result);
    if (operation.kind === "release" && operation.outcome === "suspended") this.isSuspended = true;
    else if (operation.kind === "release" && operation.outcome !== "continued") {
      this.release = operation;
      this.#released.resolve(operation);
    }
    for (const look of this.#onOutput) look();
  }

  /** It could not be started. */
  fail(error: unknown): void {
    this.#leased.reject(error);
    this.#released.reject(error);
  }

  /** Resolves when this is so; looked at after each operation. */
  async until(isSo: () => boolean): Promise<void> {
    await this.leased;
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        this.#onOutput.delete(look);
        resolve();
      };
      this.#onOutput.add(look);
      look();
    });
  }

  /** The bytes of one stream so far. */
  output(stream: "stdout" | "stderr"): Buffer {
    const chunks = this.operations.flatMap((operation) =>
      operation.kind === "logs" ? operation.chunks : [],
    );
    return Buffer.concat(
      chunks.filter((chunk) => chunk.stream === stream).map(({ data }) => Buffer.from(data, "base64")),
    );
  }

  /** Resolves when the stream contains `text`. */
  outputHas(stream: "stdout" | "stderr", text: string): Promise<void> {
    return this.until(() => this.output(stream).includes(text));
  }
}
