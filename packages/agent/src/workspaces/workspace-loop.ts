import {
  formatDuration,
  parseDuration,
  type LeasedMaterialization,
  type RenewMaterializationsResponse,
  type WorkspaceLeaseResponse,
} from "@keelson/contract";
import { pause } from "../pause.ts";
import { retryDelayMs } from "../protocol/retry-calls.ts";
import { HeldWorkspace } from "./held-workspace.ts";
import type { WorkspaceContext } from "./workspace-context.ts";
import { findLeft, removeLeft, type LeftWorkspace } from "./left-workspaces.ts";

const WAIT_MS = 20_000;
const REPLY_MARGIN_MS = 10_000;
/** An answer that changed nothing here is not asked for again at once. */
const NO_NEWS_PAUSE_MS = 50;
/** Between two answers with input that a program does not read. */
const STALLED_PAUSE_MS = 250;
/** Until a folder that could not be removed is tried again. */
const LOOK_AGAIN_MS = 10_000;
const LONGEST_RENEW_INTERVAL_MS = 5_000;
const RENEW_RETRY_MS = 500;

export type WorkspaceLoopOptions = Omit<WorkspaceContext, "onEnded" | "leaseDurationMs" | "hasLease"> & {
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
  /** Of what is not held here: its files are wanted no more. */
  readonly #discarded = new Set<string>();
  readonly #stopped = new AbortController();
  readonly #loops: Promise<unknown>;
  /** Cuts the open poll short, which then asks anew. */
  #wake: (() => void) | null = null;
  #openLimit = 0;
  #renewEarly = new AbortController();
  #draining = false;
  #leaseDurationMs = 6_000;
  /** When the last renewal that succeeded was sent. */
  #renewedAt = performance.now();
  /** What earlier processes and former owners left is to be looked at. */
  #looksBack = true;

  constructor(options: WorkspaceLoopOptions) {
    this.#options = options;
    this.#loops = Promise.all([this.#poll(), this.#renew()]);
  }

  inUse(): number {
    return this.#held.size;
  }

  /** The ids of the workspaces that are held. */
  held(): string[] {
    return [...this.#held.values()].map(({ leased }) => leased.workspace_id);
  }

  /** What a run has attached to is held from now on; the poll may bring it as well. */
  attach(leased: LeasedMaterialization): HeldWorkspace {
    return this.#accept(leased);
  }

  /** Takes no more; commits and stops what is held. Resolves when nothing is, but what could not be committed. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#wake?.();
    // The poll that was cut may have been answered: what it was given is stopped too.
    await this.#pollOnce(0, 0, this.#stopped.signal).catch((err: unknown) =>
      this.#options.logger.warn({ err }, "the last poll for workspaces could not be settled"),
    );
    const held = [...this.#held.values()];
    for (const workspace of held) workspace.stop("commit");
    await Promise.all(held.map(({ settled }) => settled));
  }

  /** Ends all processes at once, and leaves the folders to the agent's next process. */
  async stop(): Promise<void> {
    this.#draining = true;
    this.#stopped.abort();
    this.#options.spares.close();
    const held = [...this.#held.values()];
    for (const workspace of held) workspace.abandon();
    await Promise.all([this.#loops, ...held.map(({ ended }) => ended)]);
  }

  async #poll(): Promise<void> {
    for (let failures = 0; !this.#stopped.signal.aborted;) {
      const woken = new AbortController();
      const looksBack = this.#looksBack;
      const limit = this.#draining || looksBack ? 0 : this.#room();
      const wake = (): void => woken.abort();
      this.#wake = wake;
      this.#openLimit = limit;
      try {
        this.#looksBack = false;
        const progress = looksBack
          ? await this.#lookBack(woken.signal)
          : await this.#pollOnce(limit, WAIT_MS, woken.signal);
        failures = 0;
        if (!progress) await pause(NO_NEWS_PAUSE_MS, this.#stopped.signal);
      } catch (err) {
        this.#looksBack ||= looksBack;
        if (this.#stopped.signal.aborted || woken.signal.aborted) continue;
        if (failures % 5 === 1) this.#options.logger.warn({ err }, "leasing workspaces failed; trying again");
        await pause(retryDelayMs(failures, err, this.#options.random), this.#stopped.signal);
        failures += 1;
      }
    }
  }

  /** Those that only wait with what they could not commit take none. */
  #room(): number {
    const working = [...this.#held.values()].filter((workspace) => !workspace.isWaiting());
    return Math.max(0, this.#options.capacity - working.length);
  }

  /** Takes up what the server says is still this worker's, and removes what is left of the rest. */
  async #lookBack(woken: AbortSignal): Promise<boolean> {
    const { folder: parent, home, logger, cgroups } = this.#options;
    const isHeld = (id: string): boolean => this.#held.has(id);
    const progress = await this.#pollOnce(0, 0, woken, await findLeft(parent, isHeld));
    const isDiscarded = (id: string): boolean => this.#discarded.has(id);
    const isRemoved = await removeLeft({ parent, home, logger, cgroups, isHeld, isDiscarded });
    if (!isRemoved) setTimeout(() => this.#lookBackSoon(), LOOK_AGAIN_MS).unref();
    return progress;
  }

  /** False when the answer had something, and yet nothing changed here. */
  async #pollOnce(
    limit: number,
    waitMs: number,
    woken: AbortSignal,
    quarantined: readonly LeftWorkspace[] = [],
  ): Promise<boolean> {
    const { client, probe } = this.#options;
    const asked = [...this.#held.values()];
    const ready = new Set(asked.filter((workspace) => workspace.isReady()));
    const held = asked.map((workspace) => workspace.held());
    const before = JSON.stringify(held);
    const body = JSON.stringify({
      limit,
      wait: formatDuration(waitMs),
      isolation: probe.isolation,
      begins_given: true,
      held,
      quarantined,
    });
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
    // Of what is not held, the folders are found by who looks back.
    for (const id of answer.discarded ?? []) {
      const workspace = this.#held.get(id);
      if (workspace === undefined) this.#discarded.add(id);
      else workspace.stop("discard");
    }
    this.#lose(answer.lost, asked);
    for (const leased of answer.materializations) this.#accept(leased);
    for (const stop of answer.stops) this.#find(stop)?.stop(stop.mode);
    const held = [...this.#held.values()];
    for (const workspace of held) {
      const { materialization_id: id } = workspace.fields;
      // What a run has attached to meanwhile the poll did not ask about.
      const isTold =
        asked.includes(workspace) ||
        answer.materializations.some((leased) => this.#find(leased) === workspace);
      await workspace.take(
        answer.processes.filter((start) => start.materialization_id === id),
        isTold,
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
      hasLease: () => performance.now() - this.#renewedAt < this.#leaseDurationMs,
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
    if (!workspace.hasLeftovers() || this.#stopped.signal.aborted) return;
    // Its files may have been discarded, or could not be removed: the next poll asks, and looks for what is left.
    this.#lookBackSoon();
  }

  #lookBackSoon(): void {
    this.#looksBack = true;
    this.#wake?.();
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
      const asked = [...this.#held.values()].filter((workspace) => !workspace.isWaiting());
      if (signal.aborted || asked.length === 0) continue;
      const sentAt = performance.now();
      try {
        const body = JSON.stringify({ materializations: asked.map((workspace) => workspace.renewal()) });
        const answer = await client.post<RenewMaterializationsResponse>("workspaces/renew", body, {
          timeoutMs: intervalMs,
          signal,
        });
        this.#renewedAt = sentAt;
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
}
