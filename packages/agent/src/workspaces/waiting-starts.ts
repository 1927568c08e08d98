import type { HeldProcess, LiveWorkspace, ProcessStart } from "@keelson/contract";

/**
 * Processes that came with the lease of a workspace and wait until it is live. They are made ready meanwhile, and begin with
 * the word that it is: one call for both.
 */
export class WaitingStarts {
  #starts = new Map<string, ProcessStart>();

  /** What runs already was begun by an earlier process of the agent and is given again. */
  add(starts: readonly ProcessStart[]): void {
    for (const start of starts) if (start.status === "pending") this.#starts.set(start.process_id, start);
  }

  list(): ProcessStart[] {
    return [...this.#starts.values()];
  }

  /** As the poll is told of them, so that they are not given again. */
  held(): HeldProcess[] {
    return [...this.#starts.keys()].map((process_id) => ({
      process_id,
      ...{ input_offset: 0, input_closed: false, control_sequence: 0 },
    }));
  }

  /**
   * @param accept makes one ready, which begins when the promise is true.
   * @param tell says which ones there are, and resolves with those that are to begin.
   */
  async begin(
    accept: (start: ProcessStart, isStarted: Promise<boolean>) => void,
    tell: (body: { starts?: string[] }) => Promise<Partial<Pick<LiveWorkspace, "started">>>,
  ): Promise<void> {
    const ids = [...this.#starts.keys()];
    const answer = Promise.withResolvers<ReadonlySet<string>>();
    for (const start of this.#starts.values())
      accept(
        start,
        answer.promise.then((started) => started.has(start.process_id)),
      );
    this.#starts.clear();
    let started: readonly string[] = [];
    try {
      // A server that gave none may not know the word.
      ({ started = [] } = await tell(ids.length === 0 ? {} : { starts: ids }));
    } finally {
      answer.resolve(new Set(started));
    }
  }
}
