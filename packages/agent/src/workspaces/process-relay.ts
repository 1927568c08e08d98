import type { CommittedEnd } from "./committer.ts";
import type { HeldProcess, ProcessControl, ProcessInput, ProcessStart } from "@keelson/contract";
import type { Logger } from "../log.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { RelayedProcess, type Admission } from "./relayed-process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

export type ProcessRelayOptions = {
  client: Pick<WorkerClient, "post">;
  supervisor: Supervisor;
  /** By this process of the agent, or by an earlier one; `replaced`: one that knew more is gone. */
  origin: "started" | "adopted" | "replaced";
  /** The materialization is this worker's for sure. */
  hasLease(): boolean;
  /** What every call about the materialization carries. */
  fields: { materialization_id: string; environment_id: string; epoch: number };
  /** Commits what a process has changed; gives the version that has it. */
  commit(cause: { kind: "exec" | "pty"; id: string }, end: CommittedEnd): Promise<string | null>;
  /** The server knows that a process has ended. */
  onEnded?: (processId: string) => void;
  /** The server says that the materialization is no longer this worker's: nothing more is told of it. */
  onLost(): void;
  /** A command that is to run again was lost with its supervisor: what it changed so far must not stay. */
  onBroken(): void;
  random: Random;
  logger: Logger;
};

/** Between the server and the supervisor of one live materialization: its processes, from their start to their end. */
export class ProcessRelay {
  readonly #options: ProcessRelayOptions;
  readonly #processes = new Map<string, RelayedProcess>();
  readonly #abort = new AbortController();
  /** What was given and has been begun here: it is begun once, whatever is given again. */
  readonly #given = new Set<string>();
  #isEnding = false;
  /** The last call that ends what is not claimed. */
  #unclaimed: Promise<void> = Promise.resolve();

  constructor(options: ProcessRelayOptions) {
    this.#options = options;
  }

  /**
   * Begins with a process, or goes on with one that the supervisor kept. One that is here already is left alone.
   *
   * @param admission default: the server is asked, and nothing else is waited for.
   */
  accept(start: ProcessStart, admission: Admission = {}): void {
    if (this.#isEnding || this.#abort.signal.aborted || this.#processes.has(start.process_id)) return;
    const given = start.given === true && !this.#given.has(start.process_id);
    if (given) this.#given.add(start.process_id);
    const process = new RelayedProcess({ ...start, given }, this.#options, this.#abort.signal, admission);
    this.#processes.set(start.process_id, process);
    void process.run().then((outcome) => {
      this.#processes.delete(start.process_id);
      if (outcome === "broken") this.#options.onBroken();
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
   * called when the first answer of the poll has been accepted. Resolves when nothing of it runs.
   */
  endUnclaimed(): Promise<void> {
    // One call after the other: what one has forgotten another could not read.
    const ended = this.#unclaimed.then(() => this.#endUnclaimed());
    this.#unclaimed = ended.catch(() => undefined);
    return ended;
  }

  async #endUnclaimed(): Promise<void> {
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

  /**
   * Ends every process, one that was not given back to this relay too: nothing changes the files when this has resolved, and
   * the end of each is told. Begins with no other.
   */
  async endAll(): Promise<void> {
    this.#isEnding = true;
    await Promise.all([...this.#processes.values()].map((process) => process.end()));
    // What cannot be asked any more runs nothing; what is left is ended with the supervisor.
    await this.endUnclaimed().catch((err: unknown) =>
      this.#options.logger.info({ ...this.#options.fields, err }, "unclaimed processes could not be ended"),
    );
  }

  /** Tells the server nothing more and leaves the processes to the supervisor. */
  close(): void {
    this.#abort.abort();
  }
}
