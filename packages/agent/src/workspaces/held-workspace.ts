import type {
  HeldMaterialization,
  LeasedMaterialization,
  MaterializationStop,
  ProcessControl,
  ProcessInput,
  ProcessStart,
} from "@keelson/contract";
import type { Owner } from "@keelson/workspace-tree";
import { Attachments, WorkspaceGone, type AttachedRun } from "./attachments.ts";
import type { CommittedEnd, Committer } from "./committer.ts";
import { Custody } from "./custody.ts";
import { describeFailure } from "./describe-uncommitted.ts";
import { sandboxUserForTasks } from "../sandboxes/sandbox-user.ts";
import { Abandoned, Lost, StoppedEarly, SupervisorLost, untilStopped } from "./endings.ts";
import { giveNewFiles } from "./give-new-files.ts";
import { insist } from "./insist.ts";
import { isLeaseLost } from "./lease-lost.ts";
import {
  adoptKept,
  adoptWorkspace,
  keepLeft,
  prepareWorkspace,
  type KeptWorkspace,
  type Prepared,
  type PrepareOptions,
} from "./prepare-workspace.ts";
import { RunFiles } from "./run-files.ts";
import type { WorkspaceContext } from "./workspace-context.ts";
import type { WorkspaceFolder } from "./workspace-folder.ts";
import { WaitingStarts } from "./waiting-starts.ts";
import { ownerOf } from "./workspace-processes.ts";

type StopMode = MaterializationStop["mode"];

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
  readonly #owner: Owner | null;
  /** Aborted with the reason when nothing more is to be reported. */
  readonly #over = new AbortController();
  /** Aborted also when a stop makes preparing it pointless. */
  readonly #preparing = new AbortController();
  readonly #stopAsked = Promise.withResolvers<StopMode>();
  readonly #attachments = new Attachments();
  /** Resolves when a command was lost that is to run again from the last version. */
  readonly #broken = Promise.withResolvers<void>();
  /** Resolves when it is live. */
  readonly #ready = Promise.withResolvers<Prepared>();
  /** Resolves when it has ended, or waits with what it could not commit. */
  readonly settled: Promise<void>;
  readonly #custody: Custody;
  readonly #waiting = new WaitingStarts();
  #folder: WorkspaceFolder | null = null;
  #stop: StopMode | null = null;
  #isLost = false;
  #isBroken = false;
  /** Its end met an error, and not everything of it is gone. */
  #isLeft = false;
  #prepared: Prepared | null = null;
  /** Until it is known which of the processes that were found are still wanted. */
  #isAdopted: boolean;
  /** What the first answer about it named: an earlier process of the agent may have begun that, and nothing else. */
  #former: ReadonlySet<string> | null = null;
  /** The version that was current when a process began. */
  readonly #begunAt = new Map<string, string>();

  /** @param after what of the same materialization has to end first. */
  constructor(leased: LeasedMaterialization, context: WorkspaceContext, after: Promise<void>) {
    this.leased = leased;
    this.#context = context;
    const { materialization_id, environment_id, epoch } = leased;
    this.fields = { materialization_id, environment_id, epoch };
    this.#owner = ownerOf(context.probe, materialization_id);
    this.#isAdopted = leased.status !== "preparing";
    this.#ready.promise.catch(() => undefined); // Whoever attaches looks at it; nobody may.
    this.#over.signal.addEventListener("abort", () => {
      this.#preparing.abort(this.#over.signal.reason);
      this.#attachments.end();
    });
    this.#custody = new Custody({
      environmentId: environment_id,
      fields: { ...this.fields, workspaceId: leased.workspace_id },
      logger: context.logger,
      signal: this.#over.signal,
      isDiscarded: () => this.#stop === "discard",
      tell: (message) => this.#report("uncommitted", { error: { message } }),
    });
    this.ended = after.then(() => this.#live()).finally(() => context.onEnded(this));
    this.settled = Promise.race([this.#custody.waits, this.ended]);
  }

  /** As the poll is told of it. */
  held(): HeldMaterialization {
    const processes = this.#prepared?.relay.held() ?? this.#waiting.held();
    // One that waits with what it could not commit is told to try again by a stop.
    return { ...this.fields, stopping: this.#stop !== null && !this.#custody.isWaiting(), processes };
  }

  /** It only waits, with files that could not be committed: it needs no room, and its lease does not run out. */
  isWaiting(): boolean {
    return this.#custody.isWaiting();
  }

  /** Its folder stays though it is held no more: no version has its files, or who looks back is to find out. */
  leftFiles(): boolean {
    return (this.#custody.isKept() || this.#isLost) && this.#stop !== "discard";
  }

  /** Something of it is still there: whoever looks back is to find what becomes of that. */
  hasLeftovers(): boolean {
    return this.leftFiles() || this.#isLeft || this.#isNotTakenUp();
  }

  readonly #isNotTakenUp = (): boolean => this.#folder === null && this.leased.status !== "preparing";

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
   * Takes what an answer of the poll has for its processes. `isTold` is whether the answer says all that there is of it.
   * `wasReady` is whether it could take that when the poll was made: what the supervisor runs and that answer did not name has
   * ended for the server.
   */
  async take(starts: readonly ProcessStart[], isTold: boolean, wasReady: boolean): Promise<void> {
    const prepared = this.#prepared;
    if (isTold) this.#former ??= new Set(starts.map((start) => start.process_id));
    if (this.#stop !== null || this.#over.signal.aborted) return;
    if (prepared === null) return this.#isAdopted ? undefined : this.#waiting.add(starts);
    if (starts.length > 0 && this.#owner !== null && this.#attachments.some)
      await giveNewFiles(prepared.folder.root, this.#owner, this.#context.logger);
    for (const start of starts) {
      if (start.status === "pending" && start.on_lost === "rerun") await this.#keepBefore(prepared, start);
      this.#begin(prepared, start);
    }
    if (!wasReady || !this.#isAdopted) return;
    this.#isAdopted = false;
    // Not waited for: a program may take its time to end, and the poll serves others.
    void prepared.relay.endUnclaimed().catch((err: unknown) => {
      this.#context.logger.warn({ ...this.fields, err }, "what a former agent started could not be ended");
    });
  }

  #begin({ committer, folder, relay }: Prepared, start: ProcessStart, isStarted?: Promise<boolean>): void {
    const { process_id: id } = start;
    const isNew = this.leased.status === "preparing" || this.#former?.has(id) === false;
    // With which version an earlier process of the agent has begun one, nobody knows any more.
    if (start.status === "pending" || (start.given === true && isNew))
      this.#begunAt.set(id, committer.versionId());
    const marked = start.on_lost === "reject" ? this.#custody.begin(folder, id) : Promise.resolve();
    relay.accept(start, { isNew, marked, ...(isStarted === undefined ? {} : { isStarted }) });
  }

  /** Says that it is live, and with that word which processes begin that came with the lease. */
  async #goLive(prepared: Prepared): Promise<void> {
    await this.#waiting.begin(
      (start, isStarted) => this.#begin(prepared, start, isStarted),
      (starts) => this.#report("live", { isolation: this.#context.probe.isolation, ...starts }),
    );
    this.#ready.resolve(prepared);
  }

  /** What is to run again begins with what is there now: that has to be in a version. */
  async #keepBefore({ committer }: Prepared, { process_id: id }: ProcessStart): Promise<void> {
    const runId = this.#attachments.only();
    const cause = runId === null ? ({ kind: "exec", id } as const) : ({ kind: "run", id: runId } as const);
    await this.#heedLoss(committer.commit(cause)).catch((err: unknown) => {
      this.#context.logger.warn({ ...this.fields, err }, "what a command begins with could not be committed");
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
    const { gone, detach } = this.#attachments.add(runId);
    try {
      const { folder, committer } = await this.#ready.promise;
      return {
        path: folder.root,
        user: sandboxUserForTasks(this.#context.probe, this.fields.materialization_id),
        files: new RunFiles({ root: folder.root, owner: this.#owner }, folder.path),
        gone,
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
    this.#custody.retryNow();
    this.#stopAsked.resolve(mode);
    this.#attachments.end();
    // What is taken up again has what no version may have yet: that is committed before it stops.
    if (this.#prepared === null && this.leased.status === "preparing")
      this.#preparing.abort(new StoppedEarly());
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
      const kept = this.leased.status === "preparing" ? null : await adoptKept(this.#options());
      if (kept !== null) return await this.#recover(kept);
      this.#prepared = await this.#prepare();
      this.#folder = this.#prepared.folder;
      if (this.leased.status === "stopping") this.stop("commit");
      else await this.#goLive(this.#prepared);
      const lost = [this.#prepared.supervisor.gone, this.#broken.promise];
      await untilStopped(this.#stopAsked.promise, { over: this.#over.signal, lost });
      await this.#letGo(this.#prepared);
    } catch (error) {
      const cut = this.#over.signal.aborted || this.#preparing.signal.aborted;
      this.#ready.reject(cut || isLeaseLost(error) ? new WorkspaceGone() : error);
      await this.#giveUp(error);
    } finally {
      this.#ready.reject(new WorkspaceGone());
      this.#attachments.end();
      await this.#drop();
    }
  }

  /** Goes on with what could not be committed before the agent ended. */
  async #recover({ folder, open }: KeptWorkspace): Promise<void> {
    this.#folder = folder;
    this.#stop ??= "commit";
    await this.#custody.keep(folder);
    let committer: Committer | null = null;
    await this.#custody.commitAll(folder, async () => (committer ??= await open()));
    await this.#report("stopped", {});
  }

  #prepare(): Promise<Prepared> {
    const options = this.#options();
    return this.leased.status === "preparing" ? prepareWorkspace(options) : adoptWorkspace(options);
  }

  #options(): PrepareOptions {
    return {
      ...this.#context,
      leased: this.leased,
      preparing: this.#preparing.signal,
      over: this.#over.signal,
      waiting: () => this.#waiting.list(),
      commit: (committer: Committer, cause: { kind: "exec" | "pty"; id: string }, end: CommittedEnd) =>
        this.#commitProcess(committer, cause, end),
      onBroken: () => {
        this.#isBroken = true;
        this.#broken.resolve();
      },
      onProcessEnded: (processId: string) => this.#attachments.tellEnd(processId),
      onLost: () => this.lose(),
    };
  }

  /** The version that has what the process changed; null when nothing changed since it began. */
  async #commitProcess(
    committer: Committer,
    cause: { kind: "exec" | "pty"; id: string },
    end: CommittedEnd,
  ): Promise<string | null> {
    const begunAt = this.#begunAt.get(cause.id) ?? null;
    this.#begunAt.delete(cause.id);
    if (this.#stop === "discard") return null;
    const versionId = await this.#heedLoss(committer.commit(cause, end)).catch(async (error: unknown) => {
      const folder = isLeaseLost(error) || this.#over.signal.aborted ? null : this.#folder;
      if (folder !== null) await this.#custody.keep(folder);
      throw error;
    });
    if (this.#folder !== null) {
      if (this.#custody.isKept()) await this.#custody.release(this.#folder);
      await this.#custody.committed(this.#folder, cause.id);
    }
    return versionId === begunAt ? null : versionId;
  }

  async #letGo({ relay, committer, folder }: Prepared): Promise<void> {
    await this.#attachments.none();
    await relay.endAll();
    await this.#custody.commitAll(folder, () => Promise.resolve(committer));
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
      this.#isLost = this.#folder !== null;
      logger.warn(fields, "a workspace has another owner, or none; ending it here");
      return;
    }
    try {
      if (reason instanceof StoppedEarly) return await this.#report("stopped", {});
      logger.error({ ...fields, err: reason }, "a workspace has failed");
      // Its version cannot be read, say: it may have what that has not.
      const left = this.#isNotTakenUp() ? await keepLeft(this.#options()) : null;
      if (left !== null) return await this.#recover(left);
      await this.#prepared?.relay.endAll();
      // What could not be committed before is not given up with what it was in.
      if (this.#prepared?.committer.lastFailed() === true) return await this.#letGo(this.#prepared);
      const isSaved = reason instanceof SupervisorLost && (await this.#save());
      await this.#report("failed", {
        error: { message: isSaved ? SupervisorLost.SAVED : describeFailure(reason) },
      });
    } catch (err) {
      // Refused because it is lost, or cut off by the agent's end.
      if (!this.#over.signal.aborted && !isLeaseLost(err))
        logger.error({ ...fields, err }, "the end of a workspace could not be reported");
    }
  }

  /** Commits what a lost supervisor's processes have changed, unless somebody does that a second time. */
  async #save(): Promise<boolean> {
    if (this.#prepared === null || this.#isBroken || this.#attachments.some) return false;
    const { folder, committer, supervisor } = this.#prepared;
    await supervisor.stop();
    await this.#custody.commitAll(folder, () => Promise.resolve(committer));
    return true;
  }

  #report<T>(word: "live" | "stopped" | "failed" | "uncommitted", extra: object): Promise<T> {
    const { client, random } = this.#context;
    const { signal } = this.#over;
    const body = JSON.stringify({ ...this.fields, ...extra });
    return this.#heedLoss(
      insist(() => client.post<T>(`workspaces/${word}`, body, { signal }), { random, signal }),
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

  /** Nothing of it is left running; the files are, for the agent's next process, when this one just ends. */
  async #drop(): Promise<void> {
    try {
      this.#prepared?.relay.close();
      await this.#prepared?.supervisor.stop();
      if (!(this.#over.signal.reason instanceof Abandoned) && !this.leftFiles()) await this.#folder?.remove();
    } catch (err) {
      this.#isLeft = true;
      this.#context.logger.error(
        { ...this.fields, err },
        "what was left of a workspace could not be removed; looking for it again",
      );
    }
  }
}
