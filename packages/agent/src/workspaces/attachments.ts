import type { SandboxUser } from "../sandboxes/sandbox-user.ts";
import { pause } from "../pause.ts";
import type { RunFiles } from "./run-files.ts";

/** A workspace that a run is to work in, or works in, is let go of, or lost. */
export class WorkspaceGone extends Error {
  override readonly name = "WorkspaceGone";
}

/** A run's hold of a workspace. */
export type AttachedRun = {
  /** Where its files are. */
  path: string;
  /** As whom the run's code may work in them by path; null when it may not. */
  user: SandboxUser | null;
  /** The same for its code, which stays inside. */
  files: RunFiles;
  /** Resolves when the run is to stop, because the workspace is let go of or lost. */
  gone: Promise<void>;
  /** Resolves when the server knows that a process has ended, or after that long. */
  untilEnd(processId: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
  /** Makes a version of what changed, by whomever. */
  commit(): Promise<void>;
  /** The run works in it no more. */
  detach(): void;
};

/** One hold of a workspace, as the workspace knows it. */
export type Attachment = Pick<AttachedRun, "gone" | "detach">;

type Entry = { runId: string; tellGone: () => void };

/** The runs that work in one workspace, like shells in one folder. */
export class Attachments {
  /** Of processes whose end is waited for. */
  readonly #ends = new Map<string, AbortController>();
  readonly #runs = new Set<Entry>();
  #isOver = false;
  #whenNone: (() => void)[] = [];

  get some(): boolean {
    return this.#runs.size > 0;
  }

  /**
   * One more. Each has a promise of its own: one of the workspace would keep all that ever waited for it, and a workspace is held
   * for as long as it is used.
   */
  add(runId: string): Attachment {
    const { promise: gone, resolve: tellGone } = Promise.withResolvers<void>();
    const entry = { runId, tellGone };
    this.#runs.add(entry);
    if (this.#isOver) tellGone();
    const detach = (): void => {
      if (!this.#runs.delete(entry)) return;
      if (this.#runs.size === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
    };
    return { gone, detach };
  }

  /** The run that works there; null when there is none, or more than one. */
  only(): string | null {
    const [first] = this.#runs;
    return this.#runs.size === 1 ? (first?.runId ?? null) : null;
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

  /** All that are there, and all that come, are to stop. */
  end(): void {
    this.#isOver = true;
    for (const { tellGone } of this.#runs) tellGone();
  }

  none(): Promise<void> {
    return this.#runs.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenNone.push(resolve));
  }
}
