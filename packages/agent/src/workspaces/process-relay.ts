import type { HeldProcess, ProcessControl, ProcessInput, ProcessStart } from "@keelson/contract";
import type { Logger } from "../log.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { RelayedProcess } from "./relayed-process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

export type ProcessRelayOptions = {
  client: Pick<WorkerClient, "post">;
  supervisor: Supervisor;
  /** What every call about the materialization carries. */
  fields: { materialization_id: string; environment_id: string; epoch: number };
  /** Commits what a process has changed; gives the version that has it. */
  commit(cause: { kind: "exec" | "pty"; id: string }): Promise<string | null>;
  /** The server knows that a process has ended. */
  onEnded?: (processId: string) => void;
  /** The server says that the materialization is no longer this worker's: nothing more is told of it. */
  onLost(): void;
  random: Random;
  logger: Logger;
};

/** Between the server and the supervisor of one live materialization: its processes, from their start to their end. */
export class ProcessRelay {
  readonly #options: ProcessRelayOptions;
  readonly #processes = new Map<string, RelayedProcess>();
  readonly #abort = new AbortController();
  #isEnding = false;

  constructor(options: ProcessRelayOptions) {
    this.#options = options;
  }

  /** Begins with a process, or goes on with one that the supervisor kept. One that is here already is left alone. */
  accept(start: ProcessStart): void {
    if (this.#isEnding || this.#abort.signal.aborted || this.#processes.has(start.process_id)) return;
    const process = new RelayedProcess(start, this.#options, this.#abort.signal);
    this.#processes.set(start.process_id, process);
    void process.run().then((outcome) => {
      this.#processes.delete(start.process_id);
      if (outcome === "ended") this.#options.onEnded?.(start.process_id);
      if (outcome !== "lost" || this.#abort.signal.aborted) return;
      this.#abort.abort();
      this.#options.onLost();
    });
  }

  /** Resolves when the supervisor has what it takes; before the next poll then, which would bring the same again. */
  async input(input: ProcessInput): Promise<void> {
    await this.#processes.get(input.process_id)?.input(input);
  }

  async control(control: ProcessControl): Promise<void> {
    await this.#processes.get(control.process_id)?.control(control);
  }

  held(): HeldProcess[] {
    return [...this.#processes.values()].map((process) => process.held());
  }

  /** A program does not read what it was sent, so a poll would be answered at once with the same: pause before it. */
  stalled(): boolean {
    return [...this.#processes.values()].some((process) => process.isStalled);
  }

  busy(): boolean {
    return this.#processes.size > 0;
  }

  /**
   * Ends what an adopted supervisor still runs though the server gave none of it back: it has ended for the server. To be
   * called when the first answer of the poll has been accepted.
   */
  async endUnclaimed(): Promise<void> {
    const { supervisor } = this.#options;
    const unclaimed = (await supervisor.list()).filter(({ id }) => !this.#processes.has(id));
    await Promise.all(
      unclaimed.map(async ({ id }) => {
        await supervisor.end(id);
        const after = { stdout: 0, stderr: 0, output: 0 };
        for (;;) {
          const { chunks, exit } = await supervisor.readOutput(id, after, this.#abort.signal);
          for (const { stream, offset, data } of chunks) after[stream] = offset + data.length;
          if (exit !== null) return supervisor.forget(id);
          if (this.#abort.signal.aborted) return undefined;
        }
      }),
    );
  }

  /** Ends every process and resolves when the end of each is told. Begins with no other. */
  async endAll(): Promise<void> {
    this.#isEnding = true;
    await Promise.all([...this.#processes.values()].map((process) => process.end()));
  }

  /** Tells the server nothing more and leaves the processes to the supervisor. */
  close(): void {
    this.#abort.abort();
  }
}
