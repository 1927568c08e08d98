import { pause } from "../pause.ts";
import type { Logger } from "../log.ts";
import type { Committer } from "./committer.ts";
import { describeFailure, describeLeftOut } from "./describe-uncommitted.ts";
import { isLeaseLost } from "./lease-lost.ts";
import type { WorkspaceFolder } from "./workspace-folder.ts";

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 600_000;

export type CustodyOptions = {
  environmentId: string;
  /** Of each line that is logged. */
  fields: object;
  logger: Logger;
  /** Nothing more is to be done here: the files stay as they are. */
  signal: AbortSignal;
  /** The files are wanted no more. */
  isDiscarded(): boolean;
  /** Tells the server why the files are kept. */
  tell(message: string): Promise<void>;
};

/**
 * Files that no version has are removed by nobody who was not told to. A folder whose commit failed is in quarantine, which a
 * mark on the disk says to a next process, until a commit has everything.
 */
export class Custody {
  /** Resolves when it first waits with what it could not commit. */
  readonly waits: Promise<void>;
  readonly #waits = Promise.withResolvers<void>();
  readonly #options: CustodyOptions;
  /** Aborted when the next try is to be made at once. */
  #retry = new AbortController();
  #isWaiting = false;
  /** What changes the files, or has changed them since the last version, and is not done a second time. */
  readonly #changing = new Set<string>();
  #marking: Promise<void> = Promise.resolve();
  #isKept = false;

  constructor(options: CustodyOptions) {
    this.#options = options;
    this.waits = this.#waits.promise;
  }

  /** It only waits for its next try. */
  isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** The folder has what no version has. */
  isKept(): boolean {
    return this.#isKept;
  }

  retryNow(): void {
    this.#retry.abort();
  }

  /** A process begins whose changes nobody repeats: they are to be found if this agent or its lease ends before they are committed. */
  async begin(folder: WorkspaceFolder, processId: string): Promise<void> {
    const isFirst = this.#changing.size === 0;
    this.#changing.add(processId);
    await (isFirst ? this.#inTurn(() => folder.markChanging()) : this.#marking);
  }

  /** A version has what the process changed. */
  async committed(folder: WorkspaceFolder, processId: string): Promise<void> {
    const isLast = this.#changing.delete(processId) && this.#changing.size === 0;
    if (isLast) await this.#inTurn(() => folder.markUnchanged());
  }

  #inTurn(marking: () => Promise<void>): Promise<void> {
    this.#marking = this.#marking.then(() => this.#marked(marking()));
    return this.#marking;
  }

  /** A commit failed: what is there is not to be removed by anyone until one succeeds. */
  async keep(folder: WorkspaceFolder): Promise<void> {
    this.#isKept = true;
    await this.#marked(folder.hold(this.#options.environmentId));
  }

  async release(folder: WorkspaceFolder): Promise<void> {
    await folder.release();
    this.#isKept = false;
  }

  /**
   * Resolves once a version has everything, or once somebody said that the rest is not wanted. Until then the files stay
   * where they are, and the commit is tried again at growing intervals.
   *
   * @param open gives what commits the folder; when that fails it is tried again too.
   * @throws ServiceError `lease_lost`; what the signal was aborted with.
   */
  async commitAll(folder: WorkspaceFolder, open: () => Promise<Committer>): Promise<void> {
    const { environmentId, fields, logger, isDiscarded, tell } = this.#options;
    for (let tries = 0; !isDiscarded(); tries += 1) {
      await this.#marked(folder.guard(environmentId));
      const problem = await this.#try(open);
      if (problem === null) return this.release(folder);
      await this.keep(folder);
      if (isDiscarded()) return;
      logger.warn(
        { ...fields, folder: folder.root, problem },
        "files of a workspace could not be committed; they are kept",
      );
      await tell(problem);
      await this.#untilRetry(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries));
    }
  }

  /** Null when a version has everything, else what is wrong. */
  async #try(open: () => Promise<Committer>): Promise<string | null> {
    try {
      const committer = await open();
      await committer.commit({ kind: "stop" });
      const leftOut = committer.leftOut();
      return leftOut.count === 0 ? null : describeLeftOut(leftOut);
    } catch (error) {
      if (isLeaseLost(error)) throw error;
      this.#options.signal.throwIfAborted();
      return describeFailure(error);
    }
  }

  async #untilRetry(delayMs: number): Promise<void> {
    const { signal, isDiscarded } = this.#options;
    this.#retry = new AbortController();
    this.#isWaiting = true;
    this.#waits.resolve();
    if (!isDiscarded()) await pause(delayMs, AbortSignal.any([signal, this.#retry.signal]));
    this.#isWaiting = false;
    signal.throwIfAborted();
  }

  /** Without the mark they are there all the same; only a next process would not know that they are to stay. */
  async #marked(marking: Promise<void>): Promise<void> {
    const { fields, logger } = this.#options;
    await marking.catch((err: unknown) => {
      logger.error({ ...fields, err }, "uncommitted files could not be marked as such");
    });
  }
}
