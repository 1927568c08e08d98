import {
  formatDuration,
  parseDuration,
  type LeasedMaterialization,
  type RenewMaterializationsResponse,
  type WorkspaceLeaseResponse,
} from "@keelson/contract";
import { pause } from "../pause.ts";
import { retryDelayMs } from "../protocol/retry-calls.ts";
import { HeldWorkspace, type WorkspaceContext } from "./held-workspace.ts";
import { listWorkspaceFolders } from "./workspace-folder.ts";
import { endFormer } from "./workspace-processes.ts";

const WAIT_MS = 20_000;
const REPLY_MARGIN_MS = 10_000;
/** An answer that changed nothing here is not asked for again at once. */
const NO_NEWS_PAUSE_MS = 50;
/** Between two answers with input that a program does not read. */
const STALLED_PAUSE_MS = 250;
const LONGEST_RENEW_INTERVAL_MS = 5_000;
const RENEW_RETRY_MS = 500;

export type WorkspaceLoopOptions = Omit<WorkspaceContext, "onEnded" | "leaseDurationMs"> & {
  /** Workspaces at a time. */
  capacity: number;
  /** null: a third of what the server says a lease lasts, at most 5,000. */
  renewIntervalMs: number | null;
};

/**
 * Keeps one long poll open that says what this worker has and is answered what it lacks, and renews what is held. An
 * answer that is lost or cut off is given again, so nothing is asked for twice.
 */
export class WorkspaceLoop {
  readonly #options: WorkspaceLoopOptions;
  readonly #held = new Map<string, HeldWorkspace>();
  readonly #stopped = new AbortController();
  readonly #loops: Promise<unknown>;
  /** Cuts the open poll short, which then asks anew. */
  #wake: (() => void) | null = null;
  #openLimit = 0;
  #renewEarly = new AbortController();
  #draining = false;
  #leaseDurationMs = 6_000;
  #whenNone: (() => void)[] = [];

  constructor(options: WorkspaceLoopOptions) {
    this.#options = options;
    this.#loops = Promise.all([this.#poll(), this.#renew()]);
  }

  inUse(): number {
    return this.#held.size;
  }

  /** What a run has attached to is held from now on; the poll may bring it as well. */
  attach(leased: LeasedMaterialization): HeldWorkspace {
    return this.#accept(leased);
  }

  /** Takes no more; commits and stops what is held. Resolves when nothing is. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#wake?.();
    // The poll that was cut may have been answered: what it was given is stopped too.
    await this.#pollOnce(0, 0, this.#stopped.signal).catch((err: unknown) =>
      this.#options.logger.warn({ err }, "the last poll for workspaces could not be settled"),
    );
    for (const workspace of this.#held.values()) workspace.stop("commit");
    if (this.#held.size > 0) await new Promise<void>((resolve) => this.#whenNone.push(resolve));
  }

  /** Ends all processes at once, and leaves the folders to the agent's next process. */
  async stop(): Promise<void> {
    this.#draining = true;
    this.#stopped.abort();
    const held = [...this.#held.values()];
    for (const workspace of held) workspace.abandon();
    await Promise.all([this.#loops, ...held.map(({ ended }) => ended)]);
  }

  async #poll(): Promise<void> {
    let isFirst = true;
    for (let failures = 0; !this.#stopped.signal.aborted;) {
      const woken = new AbortController();
      const limit = this.#draining || isFirst ? 0 : Math.max(0, this.#options.capacity - this.#held.size);
      this.#wake = () => woken.abort();
      this.#openLimit = limit;
      try {
        const progress = await this.#pollOnce(limit, isFirst ? 0 : WAIT_MS, woken.signal);
        if (isFirst) await this.#removeLeftOvers();
        isFirst = false;
        failures = 0;
        if (!progress) await pause(NO_NEWS_PAUSE_MS, this.#stopped.signal);
      } catch (err) {
        if (this.#stopped.signal.aborted || woken.signal.aborted) continue;
        if (failures % 5 === 1) this.#options.logger.warn({ err }, "leasing workspaces failed; trying again");
        await pause(retryDelayMs(failures, err, this.#options.random), this.#stopped.signal);
        failures += 1;
      }
    }
  }

  /** False when the answer had something, and yet nothing changed here. */
  async #pollOnce(limit: number, waitMs: number, woken: AbortSignal): Promise<boolean> {
    const { client, probe } = this.#options;
    const asked = [...this.#held.values()];
    const ready = new Set(asked.filter((workspace) => workspace.isReady()));
    const held = asked.map((workspace) => workspace.held());
    const before = JSON.stringify(held);
    const body = JSON.stringify({ limit, wait: formatDuration(waitMs), isolation: probe.isolation, held });
    const answer = await client.post<WorkspaceLeaseResponse>("workspaces/lease", body, {
      timeoutMs: waitMs + REPLY_MARGIN_MS,
      signal: AbortSignal.any([this.#stopped.signal, woken]),
    });
    await this.#take(answer, asked, ready);
    if (asked.some((workspace) => workspace.stalled())) await pause(STALLED_PAUSE_MS, this.#stopped.signal);
    const isEmpty = Object.values(answer).every((part) => !Array.isArray(part) || part.length === 0);
    return (
      isEmpty || before !== JSON.stringify([...this.#held.values()].map((workspace) => workspace.held()))
    );
  }

  async #take(
    answer: WorkspaceLeaseResponse,
    asked: readonly HeldWorkspace[],
    ready: ReadonlySet<HeldWorkspace>,
  ): Promise<void> {
    this.#leaseDurationMs = parseDuration(answer.lease_duration) ?? this.#leaseDurationMs;
    this.#lose(answer.lost, asked);
    for (const leased of answer.materializations) this.#accept(leased);
    for (const stop of answer.stops) this.#find(stop)?.stop(stop.mode);
    const held = [...this.#held.values()];
    for (const workspace of held) {
      const { materialization_id: id } = workspace.fields;
      await workspace.take(
        answer.processes.filter((start) => start.materialization_id === id),
        ready.has(workspace),
      );
    }
    const work: Promise<void>[] = [];
    // The answer names the process alone; its workspace knows whether it is its own. A terminal that was resized before
    // something was typed has its new size when it reads that.
    for (const control of answer.controls) work.push(...held.map((workspace) => workspace.control(control)));
    for (const input of answer.inputs) work.push(...held.map((workspace) => workspace.input(input)));
    await Promise.all(work);
  }

  #accept(leased: LeasedMaterialization): HeldWorkspace {
    const known = this.#find(leased);
    if (known !== undefined) return known;
    const former = this.#held.get(leased.materialization_id);
    former?.lose();
    const context = {
      ...this.#options,
      leaseDurationMs: () => this.#leaseDurationMs,
      onEnded: (ended: HeldWorkspace) => this.#onEnded(ended),
    };
    const workspace = new HeldWorkspace(leased, context, former?.ended ?? Promise.resolve());
    this.#held.set(leased.materialization_id, workspace);
    // What is taken up again has an old lease, and an agent that is killed over and over would never renew it.
    if (leased.status !== "preparing") this.#renewEarly.abort();
    if (this.#draining) workspace.stop("commit");
    return workspace;
  }

  #onEnded(workspace: HeldWorkspace): void {
    const { materialization_id: id } = workspace.fields;
    if (this.#held.get(id) === workspace) this.#held.delete(id);
    // A poll with room for more is told of everything it can take.
    if (this.#openLimit === 0) this.#wake?.();
    if (this.#held.size === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
  }

  #find({
    materialization_id,
    epoch,
  }: {
    materialization_id: string;
    epoch: number;
  }): HeldWorkspace | undefined {
    const workspace = this.#held.get(materialization_id);
    return workspace?.fields.epoch === epoch ? workspace : undefined;
  }

  /** Only of those that the call was about: one of a later epoch is another. */
  #lose(lost: readonly string[], asked: readonly HeldWorkspace[]): void {
    const ids = new Set(lost);
    for (const workspace of asked) if (ids.has(workspace.fields.materialization_id)) workspace.lose();
  }

  async #renew(): Promise<void> {
    const { client, logger, renewIntervalMs } = this.#options;
    const { signal } = this.#stopped;
    let failed = false;
    while (!signal.aborted) {
      const intervalMs = renewIntervalMs ?? Math.min(LONGEST_RENEW_INTERVAL_MS, this.#leaseDurationMs / 3);
      const early = this.#renewEarly.signal;
      await pause(
        failed ? Math.min(RENEW_RETRY_MS, intervalMs) : intervalMs,
        AbortSignal.any([signal, early]),
      );
      if (early.aborted) this.#renewEarly = new AbortController();
      const asked = [...this.#held.values()];
      if (signal.aborted || asked.length === 0) continue;
      try {
        const body = JSON.stringify({ materializations: asked.map((workspace) => workspace.renewal()) });
        const answer = await client.post<RenewMaterializationsResponse>("workspaces/renew", body, {
          timeoutMs: intervalMs,
          signal,
        });
        this.#lose(answer.lost, asked);
        for (const stop of answer.stops) this.#find(stop)?.stop(stop.mode);
        failed = false;
      } catch (err) {
        if (signal.aborted) return;
        logger.warn({ err }, "workspaces could not be renewed; trying again");
        failed = true;
      }
    }
  }

  /** What earlier processes left of workspaces that are not this worker's any more. */
  async #removeLeftOvers(): Promise<void> {
    const { folder: parent, home, logger } = this.#options;
    const held = new Set([...this.#held.values()].map(({ fields }) => fields.materialization_id));
    for (const { name, folder } of await listWorkspaceFolders(parent)) {
      const [materializationId = name] = name.split("-");
      if (held.has(materializationId)) continue;
      try {
        await endFormer({ dataDir: home, materializationId, logger });
        await folder.remove();
      } catch (err) {
        logger.warn({ err, name }, "what was left of a workspace could not be removed");
      }
    }
  }
}
