import type { AttachedWorkspace, Execution, ExecResult, FileCall } from "@keelson/contract";
import type { CallAnswer } from "../host/frames.ts";
import { pause } from "../pause.ts";
import { ServiceError } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { WorkspaceGone } from "../workspaces/attachments.ts";
import type { AttachedRun } from "../workspaces/attachments.ts";
import { insist } from "../workspaces/insist.ts";
import type { SandboxUser } from "../sandboxes/sandbox-user.ts";
import type { WorkspaceLoop } from "../workspaces/workspace-loop.ts";
import { InfrastructureError } from "../deaths/death.ts";
import { failed, handedBack, REJECTED, type Release } from "./decide-release.ts";

export type WorkspaceAccess = {
  client: WorkerClient;
  random: Random;
  /** null: this worker takes no workspaces. */
  loop: WorkspaceLoop | null;
};

/** The lease is over: nothing more is to be said for it. */
export const LEASE_LOST = "lease_lost";

/** One for all: to make such an error costs more than all else that the end of a run without a workspace does. */
const ENDED = new DOMException("The execution is over on this worker.", "AbortError");

const NO_FILES = { code: "not_found", message: "The run has no workspace on this worker." };

/** How soon it is looked again how a command ended whose end was not heard of. */
const LOOK_AGAIN_MS = 5_000;
/** A command that is lost is most often lost with its workspace, of which this worker hears by then. */
const LOSS_HEARD_MS = 10_000;

/**
 * The workspace of one execution: attached before its code begins, committed before it is told how it ended. Without one
 * everything here does nothing.
 */
export class RunWorkspace {
  readonly #execution: Execution;
  readonly #leaseText: string;
  readonly #access: WorkspaceAccess;
  /** The execution is over for this worker. */
  readonly #over = new AbortController();
  #attached: AttachedRun | null = null;

  constructor(execution: Execution, leaseText: string, access: WorkspaceAccess) {
    this.#execution = execution;
    this.#leaseText = leaseText;
    this.#access = access;
  }

  /** As the run is told of it. */
  get place(): { id: string; path: string } | null {
    const { workspace_id: id } = this.#execution.run;
    return id === null || this.#attached === null ? null : { id, path: this.#attached.path };
  }

  /** As whom its code may work in the files by path; null without a workspace, or when it may not. */
  get user(): SandboxUser | null {
    return this.#attached?.user ?? null;
  }

  /** Resolves when the code is to stop because its workspace is gone; never without one. */
  get gone(): Promise<void> {
    return this.#attached?.gone ?? new Promise(() => undefined);
  }

  /** @returns what the execution ends with when it cannot begin; null when it can. */
  async attach(): Promise<Release | typeof LEASE_LOST | null> {
    const { id: runId, workspace_id: workspaceId } = this.#execution.run;
    if (workspaceId === null) return null;
    const { client, random, loop } = this.#access;
    if (loop === null) return REJECTED;
    const { signal } = this.#over;
    try {
      const body = `{${this.#leaseText}}`;
      const { materialization } = await insist(
        () => client.post<AttachedWorkspace>("workspaces/attach", body, { signal }),
        { random, signal },
      );
      const attached = await loop.attach(materialization).attach(runId);
      // Its execution was stopped meanwhile.
      if (signal.aborted) attached.detach();
      else this.#attached = attached;
      return null;
    } catch (error) {
      return endingOf(error);
    }
  }

  /** What the execution is released with: a success whose files cannot be kept is none. */
  async committed(release: Release): Promise<Release> {
    if (this.#attached === null || release.outcome === "rejected") return release;
    try {
      const { files, commit } = this.#attached;
      await Promise.race([files.end().then(commit), this.#lost()]);
      return release;
    } catch (error) {
      if (release.outcome === "failed" || release.outcome === "cancelled") return release;
      const reason = error instanceof Error && error.message !== "" ? `: ${error.message}` : ".";
      const message = `The run's files could not be committed${reason}`;
      return failed("application_error", message, null, true);
    }
  }

  /** How a command of the run ended, once it has; null when the run has lost its workspace, and stops. */
  async result(execId: string): Promise<CallAnswer | null> {
    const { client, random } = this.#access;
    const { signal } = this.#over;
    const body = `{${this.#leaseText},"process_id":${JSON.stringify(execId)},"wait":"0s"}`;
    try {
      for (;;) {
        const looked = new AbortController();
        // Registered before the look. The end is heard here, so that no connection is held for a command.
        const heard = this.#attached?.untilEnd(
          execId,
          LOOK_AGAIN_MS,
          AbortSignal.any([signal, looked.signal]),
        );
        const result = await insist(
          () => client.post<ExecResult>("workspaces/processes/result", body, { signal }),
          { random, signal },
        );
        if (result.status === "pending" || result.status === "running") {
          await heard;
          signal.throwIfAborted();
          continue;
        }
        looked.abort();
        if (result.status === "lost" && (await this.#isGoneSoon())) return null;
        return { result };
      }
    } catch (error) {
      if (signal.aborted || isLeaseLost(error)) return null;
      const code = error instanceof ServiceError ? error.code : "unavailable";
      // Its workspace is being deleted, or has been: this worker hears that too.
      if ((code === "invalid_state" || code === "not_found") && (await this.#isGoneSoon())) return null;
      return { refusal: { code, message: error instanceof Error ? error.message : String(error) } };
    }
  }

  /** Reads or changes its files; null when the execution is over. */
  async file(call: FileCall): Promise<CallAnswer | null> {
    const { signal } = this.#over;
    const answer = await this.#attached?.files.answer(call);
    return signal.aborted ? null : (answer ?? { refusal: NO_FILES });
  }

  async #isGoneSoon(): Promise<boolean> {
    const { signal } = this.#over;
    const isGone = this.gone.then(() => true);
    return (await Promise.race([isGone, pause(LOSS_HEARD_MS, signal)])) === true || signal.aborted;
  }

  /** The execution has ended here. */
  end(): void {
    this.#over.abort(ENDED);
    void this.#attached?.files.end();
    this.#attached?.detach();
  }

  #lost(): Promise<never> {
    const { signal } = this.#over;
    return new Promise((_, reject) => {
      const lose = (): void => reject(new WorkspaceGone());
      if (signal.aborted) lose();
      signal.addEventListener("abort", lose, { once: true });
    });
  }
}

const isLeaseLost = (error: unknown): boolean => error instanceof ServiceError && error.code === "lease_lost";

function endingOf(error: unknown): Release | typeof LEASE_LOST {
  if (isLeaseLost(error)) return LEASE_LOST;
  // Another worker has it by now, or this one lets go of it: the claim knows better next time.
  if (error instanceof WorkspaceGone) return REJECTED;
  if (error instanceof ServiceError && error.code === "workspace_busy") return REJECTED;
  if (error instanceof ServiceError) return failed("application_error", error.message, null, false);
  if (error instanceof InfrastructureError) return handedBack(error.message);
  const reason = error instanceof Error ? error.message : String(error);
  return failed("application_error", `The workspace could not be prepared: ${reason}`, null, true);
}
