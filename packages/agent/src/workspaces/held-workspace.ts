import type {
  HeldMaterialization,
  LeasedMaterialization,
  MaterializationStop,
  ProcessControl,
  ProcessInput,
  ProcessStart,
} from "@keelson/contract";
import { TreeError } from "@keelson/workspace-tree";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ServiceError } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import { Attachments, WorkspaceGone } from "./attachments.ts";
import type { BlobCache } from "./blob-cache.ts";
import type { Committer } from "./committer.ts";
import type { IsolationProbe } from "../sandboxes/probe-isolation.ts";
import { giveNewFiles } from "./give-new-files.ts";
import { insist } from "./insist.ts";
import { adoptWorkspace, prepareWorkspace, type Prepared } from "./prepare-workspace.ts";
import type { Turns } from "./turns.ts";
import { ownerOf } from "./workspace-processes.ts";

export type WorkspaceContext = {
  client: WorkerClient;
  /** The agent's own folder: supervisors are found again there. */
  home: string;
  /** Every materialization has a folder of its own in it. */
  folder: string;
  cache: BlobCache;
  transfers: Turns;
  /** What works on this machine. */
  probe: IsolationProbe;
  leaseDurationMs(): number;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** It is not held any more. */
  onEnded(workspace: HeldWorkspace): void;
};

/** A run's hold of a workspace. */
export type AttachedRun = {
  /** Where its files are. */
  path: string;
  /** Resolves when the run is to stop, because the workspace is let go of or lost. */
  gone: Promise<void>;
  /** Resolves when the server knows that a process has ended, or after that long. */
  untilEnd(processId: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
  /** Makes a version of what changed, by whomever. */
  commit(): Promise<void>;
  /** The run works in it no more. */
  detach(): void;
};

type StopMode = MaterializationStop["mode"];

/** Another worker has it now, or none: what is left of it here is dropped. */
class Lost extends Error {
  override readonly name = "Lost";
}
/** The agent ends at once; its next process may go on with what is there. */
class Abandoned extends Error {
  override readonly name = "Abandoned";
}
class StoppedEarly extends Error {
  override readonly name = "StoppedEarly";
}

/**
 * One materialization on this worker: prepared or taken up again, live until it is to stop, committed and let go. It
 * ends once: stopped, failed with what went wrong, lost, or abandoned.
 */
export class HeldWorkspace {
  readonly leased: LeasedMaterialization;
  readonly fields: Pick<LeasedMaterialization, "materialization_id" | "environment_id" | "epoch">;
  /** Resolves when nothing of it runs. */
  readonly ended: Promise<void>;
  readonly #context: WorkspaceContext;
  /** Aborted with the reason when nothing more is to be reported. */
  readonly #over = new AbortController();
  /** Aborted also when a stop makes preparing it pointless. */
  readonly #preparing = new AbortController();
  readonly #stopAsked = Promise.withResolvers<StopMode>();
  readonly #attachments = new Attachments();
  /** Resolves when it is live. */
  readonly #ready = Promise.withResolvers<Prepared>();
  #stop: StopMode | null = null;
  #prepared: Prepared | null = null;
  /** Until it is known which of the processes that were found are still wanted. */
  #isAdopted: boolean;
  /** The version that was current when a process began. */
  readonly #begunAt = new Map<string, string>();

  /** @param after what of the same materialization has to end first. */
  constructor(leased: LeasedMaterialization, context: WorkspaceContext, after: Promise<void>) {
    this.leased = leased;
    this.#context = context;
    const { materialization_id, environment_id, epoch } = leased;
    this.fields = { materialization_id, environment_id, epoch };
    this.#isAdopted = leased.status !== "preparing";
    this.#ready.promise.catch(() => undefined); // Whoever attaches looks at it; nobody may.
    this.#over.signal.addEventListener("abort", () => {
      this.#preparing.abort(this.#over.signal.reason);
      this.#attachments.end();
    });
    this.ended = after.then(() => this.#live()).finally(() => context.onEnded(this));
  }

  /** As the poll is told of it. */
  held(): HeldMaterialization {
    const processes = this.#prepared?.relay.held() ?? [];
    return { ...this.fields, stopping: this.#stop !== null, processes };
  }

  /** A program does not read what it was sent: it is brought again with the next answer. */
  stalled(): boolean {
    return this.#prepared?.relay.stalled() ?? false;
  }

  /** As the renewal is told of it. */
  renewal(): typeof this.fields & { dirty: boolean; busy: boolean } {
    const busy = this.#attachments.some || (this.#prepared?.relay.busy() ?? false);
    return { ...this.fields, busy, dirty: busy || (this.#prepared?.committer.failed() ?? false) };
  }

  /**
   * Takes what an answer of the poll has for its processes. `wasReady` is whether it could when the poll was made: what the
   * supervisor runs and that answer did not name has ended for the server.
   */
  async take(starts: readonly ProcessStart[], wasReady: boolean): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === null || this.#stop !== null || this.#over.signal.aborted) return;
    if (starts.length > 0) await this.#giveNewFiles(prepared);
    for (const start of starts) {
      if (start.status === "pending") this.#begunAt.set(start.process_id, prepared.committer.versionId());
      prepared.relay.accept(start);
    }
    if (!wasReady || !this.#isAdopted) return;
    this.#isAdopted = false;
    // Not waited for: a program may take its time to end, and the poll serves others.
    void prepared.relay.endUnclaimed().catch((err: unknown) => {
      this.#context.logger.warn({ ...this.fields, err }, "what a former agent started could not be ended");
    });
  }

  async #giveNewFiles({ folder }: Prepared): Promise<void> {
    const owner = ownerOf(this.#context.probe, this.fields.materialization_id);
    if (owner === null || !this.#attachments.some) return;
    await giveNewFiles(folder.root, owner).catch((err: unknown) => {
      this.#context.logger.warn({ ...this.fields, err }, "files of a run could not be given to its commands");
    });
  }

  isReady(): boolean {
    return this.#prepared !== null;
  }

  async input(input: ProcessInput): Promise<void> {
    await this.#prepared?.relay.input(input);
  }

  async control(control: ProcessControl): Promise<void> {
    await this.#prepared?.relay.control(control);
  }

  /**
   * A run works in it from now on, once it is live.
   *
   * @throws WorkspaceGone when it is let go of or lost before; what went wrong when it cannot be prepared.
   */
  async attach(runId: string): Promise<AttachedRun> {
    const detach = this.#attachments.add();
    try {
      const { folder, committer } = await this.#ready.promise;
      return {
        path: folder.root,
        gone: this.#attachments.gone,
        untilEnd: (processId, timeoutMs, signal) => this.#attachments.untilEnd(processId, timeoutMs, signal),
        commit: async () => void (await this.#heedLoss(committer.commit({ kind: "run", id: runId }))),
        detach,
      };
    } catch (error) {
      detach();
      throw error;
    }
  }

  /** The server, or the drain of the agent, wants it to stop. */
  stop(mode: StopMode): void {
    // A deletion may overtake a stop that is under way.
    if (this.#stop === null || mode === "discard") this.#stop = mode;
    this.#stopAsked.resolve(mode);
    this.#attachments.end();
    if (this.#prepared === null) this.#preparing.abort(new StoppedEarly());
  }

  lose(): void {
    this.#over.abort(new Lost());
  }

  /** Ends its processes and leaves its folder to the agent's next process. */
  abandon(): void {
    this.#over.abort(new Abandoned());
  }

  async #live(): Promise<void> {
    try {
      this.#prepared = await this.#prepare();
      if (this.leased.status === "stopping") this.stop("commit");
      else {
        await this.#report("live", { isolation: this.#context.probe.isolation });
        this.#ready.resolve(this.#prepared);
      }
      await this.#untilStopAsked();
      await this.#letGo(this.#prepared);
    } catch (error) {
      const cut = this.#over.signal.aborted || this.#preparing.signal.aborted;
      this.#ready.reject(cut || isLeaseLost(error) ? new WorkspaceGone() : error);
      await this.#giveUp(error);
    }
    this.#ready.reject(new WorkspaceGone());
    this.#attachments.end();
    await this.#drop();
  }

  #prepare(): Promise<Prepared> {
    const options = {
      ...this.#context,
      leased: this.leased,
      preparing: this.#preparing.signal,
      over: this.#over.signal,
      commit: (committer: Committer, cause: { kind: "exec" | "pty"; id: string }) =>
        this.#commitProcess(committer, cause),
      onProcessEnded: (processId: string) => this.#attachments.tellEnd(processId),
      onLost: () => this.lose(),
    };
    return this.leased.status === "preparing" ? prepareWorkspace(options) : adoptWorkspace(options);
  }

  /** The version that has what the process changed; null when nothing changed since it began. */
  async #commitProcess(
    committer: Committer,
    cause: { kind: "exec" | "pty"; id: string },
  ): Promise<string | null> {
    const begunAt = this.#begunAt.get(cause.id) ?? null;
    this.#begunAt.delete(cause.id);
    if (this.#stop === "discard") return null;
    const versionId = await this.#heedLoss(committer.commit(cause));
    return versionId === begunAt ? null : versionId;
  }

  async #letGo({ relay, committer }: Prepared): Promise<void> {
    await this.#attachments.none();
    await relay.endAll();
    if (this.#stop !== "discard") await committer.commit({ kind: "stop" });
    await this.#report("stopped", {});
  }

  async #giveUp(error: unknown): Promise<void> {
    const { logger } = this.#context;
    const cut = [this.#over.signal, this.#preparing.signal].find(({ aborted }) => aborted);
    const reason: unknown = cut === undefined ? error : cut.reason;
    const fields = { ...this.fields, workspaceId: this.leased.workspace_id };
    if (reason instanceof Abandoned) return;
    if (reason instanceof Lost || isLeaseLost(reason)) {
      this.lose();
      logger.warn(fields, "a workspace has another owner; dropping it here");
      return;
    }
    try {
      if (reason instanceof StoppedEarly) return await this.#report("stopped", {});
      logger.error({ ...fields, err: reason }, "a workspace has failed");
      await this.#prepared?.relay.endAll();
      await this.#report("failed", { error: { message: describeFailure(reason) } });
    } catch (err) {
      // Refused because it is lost, or cut off by the agent's end.
      if (!this.#over.signal.aborted && !isLeaseLost(err))
        logger.error({ ...fields, err }, "the end of a workspace could not be reported");
    }
  }

  async #report(word: "live" | "stopped" | "failed", extra: object): Promise<void> {
    const { client, random } = this.#context;
    const { signal } = this.#over;
    const body = JSON.stringify({ ...this.fields, ...extra });
    await this.#heedLoss(
      insist(() => client.post(`workspaces/${word}`, body, { signal }), { random, signal }),
    );
  }

  async #heedLoss<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (isLeaseLost(error)) this.lose();
      throw error;
    }
  }

  async #untilStopAsked(): Promise<void> {
    const { signal } = this.#over;
    const over = new Promise<never>((_, reject) => {
      const cut = (): void => reject(signal.reason as Error);
      if (signal.aborted) cut();
      signal.addEventListener("abort", cut, { once: true });
    });
    const broken = this.#prepared?.supervisor.gone.then(() => {
      signal.throwIfAborted();
      throw new Error(
        "The supervisor of the workspace's processes ended. What had changed since the last version is lost; the next materialization begins with that version.",
      );
    });
    await Promise.race([this.#stopAsked.promise, over, broken]);
  }

  /** Nothing of it is left running; the files are, for the agent's next process, when this one just ends. */
  async #drop(): Promise<void> {
    if (this.#prepared === null) return;
    const { relay, supervisor, folder } = this.#prepared;
    try {
      relay.close();
      await supervisor.stop();
      if (!(this.#over.signal.reason instanceof Abandoned)) await folder.remove();
    } catch (err) {
      this.#context.logger.error(
        { ...this.fields, err },
        "what was left of a workspace could not be removed",
      );
    }
  }
}

const isLeaseLost = (error: unknown): boolean => error instanceof ServiceError && error.code === "lease_lost";

const LONGEST_MESSAGE = 2_000;

/** For callers: what they can do something about in its own words. */
function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const isFull =
    error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT"].includes(String(error.code));
  const text = isFull
    ? `The worker's disk is full (${message}). Free space there, then try again.`
    : error instanceof TreeError
      ? message
      : error instanceof ServiceError
        ? `The server refused: ${message}`
        : message;
  return (text || "The workspace failed for an unknown reason.").slice(0, LONGEST_MESSAGE);
}
