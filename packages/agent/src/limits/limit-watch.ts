import { pause } from "../pause.ts";
import type { Clock } from "../clock.ts";
import { listProcesses, sendSignal, type ProcessFacts } from "../sandboxes/find-processes.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import {
  decideDiskExcess,
  decideExcess,
  endedForMemory,
  endedForMemoryOfHost,
  noRoomForProcess,
  ranOutOfProcesses,
  restrictedByQuota,
  type Excess,
} from "./decide-excess.ts";
import { DiskQuota } from "./disk-quota.ts";
import { createMemberFinder, type Members } from "./find-members.ts";
import { measureUsage, type Usage } from "./measure-usage.ts";
import { countMemoryEvents, countProcesses } from "./workspace-cgroup.ts";

/** An exec or terminal that runs. */
export type Watched = {
  id: string;
  pid: number;
  /** Ends it with all that it started, and tells its caller why. */
  exceed(reason: string): Promise<void>;
};

const PAUSE_MS = 100;
/** What begins may fill memory at once. */
const FIRST_PAUSE_MS = 20;
/** On a busy machine a look takes long because others run: a program must not have the time to fill memory meanwhile. */
const LONGEST_PAUSE_MS = 250;
/** The kernel holds it to the rest: only the disk is looked after. */
const PAUSE_IN_CGROUP_MS = 1_000;
/** A pause is so many times as long as the look before it, and as long as that look near a limit. */
const PAUSE_PER_LOOK = 20;
const NEAR = 0.5;
/** A look that is this near to the limit of processes is made again before a command is refused. */
const FULL = 0.98;

/**
 * Holds a workspace to its limits where the kernel does not: looks at all of its processes again and again, and ends what
 * uses the most when they use too much together. What is used up between two looks is not prevented.
 */
export class LimitWatch {
  readonly #sandbox: Sandbox;
  readonly #listWatched: () => Watched[];
  readonly #clock: Clock;
  readonly #findMembers: ReturnType<typeof createMemberFinder>;
  readonly #disk: DiskQuota;
  readonly #over = new AbortController();
  #isLooking = false;
  #usages: Usage[] = [];
  #members: Members = new Map();

  constructor(sandbox: Sandbox, listWatched: () => Watched[], clock: Clock) {
    this.#sandbox = sandbox;
    this.#listWatched = listWatched;
    this.#clock = clock;
    this.#findMembers = createMemberFinder(sandbox);
    this.#disk = new DiskQuota(sandbox.surroundings.root, clock);
  }

  /** Something runs from now on; looks end with the last of it. */
  begin(): void {
    if (this.#isLooking || this.#over.signal.aborted) return;
    this.#isLooking = true;
    void this.#run().finally(() => (this.#isLooking = false));
  }

  /** Why nothing more can be started; null when it can. */
  refuseStart(): string | null {
    return this.#isFull() ? this.explainNoProcess() : null;
  }

  /** Why there is no process for a program; null when the limit of the workspace is not the reason. */
  explainNoProcess(): string | null {
    this.#measure();
    return this.#isFull() ? noRoomForProcess(this.#sandbox.limits.processes) : null;
  }

  /** What a program that is started now may do, and what its caller is told when it fails because of a limit. */
  admit(): { canWrite: boolean; explainFailure(): string | null } {
    const usedBytes = this.#disk.usedBytes() ?? 0;
    const { diskBytes, cgroup } = this.#sandbox.limits;
    if (usedBytes > diskBytes)
      return { canWrite: false, explainFailure: () => restrictedByQuota(usedBytes, diskBytes) };
    const before = cgroup === null ? null : countMemoryEvents(cgroup);
    return {
      canWrite: true,
      explainFailure: () => this.#explainMemory(before) ?? this.#explainFullness(),
    };
  }

  #explainMemory(before: ReturnType<typeof countMemoryEvents> | null): string | null {
    const { cgroup } = this.#sandbox.limits;
    if (cgroup === null || before === null) return null;
    const { ownLimit, kills } = countMemoryEvents(cgroup);
    if (kills <= before.kills) return null;
    const { memory } = this.#sandbox.surroundings.resources;
    return memory !== null && ownLimit > before.ownLimit ? endedForMemory(memory) : endedForMemoryOfHost;
  }

  /** What has failed may have had no process: others took them all after the last look. */
  #explainFullness(): string | null {
    if (this.#listWatched().length === 0) return null;
    this.#measure();
    return this.#isFull() ? ranOutOfProcesses(this.#sandbox.limits.processes) : null;
  }

  #isFull(): boolean {
    const { cgroup, processes } = this.#sandbox.limits;
    // The kernel counts the wrappers of each exec, too.
    const tasks = cgroup === null ? countTasks(this.#usages) : countProcesses(cgroup);
    return tasks >= processes * FULL;
  }

  close(): void {
    this.#over.abort();
    this.#disk.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      await pause(pauseMs, signal);
      if (signal.aborted || this.#listWatched().length === 0) break;
      const startedAt = this.#clock.monotonic();
      const pressure = this.#measure();
      const tookMs = this.#clock.monotonic() - startedAt;
      void this.#lookAtDisk();
      if (this.#sandbox.limits.cgroup !== null) {
        pauseMs = Math.max(PAUSE_IN_CGROUP_MS, PAUSE_PER_LOOK * tookMs);
        continue;
      }
      const excess = decideExcess(this.#usages, {
        ...this.#sandbox.limits,
        memoryLimit: this.#memoryLimit(),
      });
      if (excess !== null) await this.#end(excess);
      if (excess !== null) pauseMs = 0;
      else if (pressure > NEAR) pauseMs = Math.max(PAUSE_MS / 2, tookMs);
      else pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, PAUSE_PER_LOOK * tookMs));
    }
    this.#usages = [];
    this.#members = new Map();
  }

  /** @returns the part of the limits that is used. */
  #measure(): number {
    this.#members = this.#findMembers(this.#listWatched());
    const memoryLimit = this.#memoryLimit();
    this.#usages = measureUsage(this.#members, {
      isNamespace: this.#sandbox.surroundings.isolation === "namespace",
      memoryLimit,
      disk: this.#disk.device,
    });
    const bytes = this.#usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    const tasks = countTasks(this.#usages) / this.#sandbox.limits.processes;
    return Math.max(tasks, memoryLimit === null ? 0 : bytes / memoryLimit);
  }

  #memoryLimit(): number | null {
    const { memory } = this.#sandbox.surroundings.resources;
    return memory === null || this.#sandbox.limits.cgroup !== null ? null : memory * 1024 * 1024;
  }

  async #lookAtDisk(): Promise<void> {
    const sight = await this.#disk.look(
      () => this.#members,
      () => this.#usages.reduce((sum, { deletedBytes }) => sum + deletedBytes, 0),
    );
    if (sight === null || !sight.hasGrown) return;
    const { limits } = this.#sandbox;
    const excess = decideDiskExcess(sight.written, { usedBytes: sight.usedBytes, limits });
    if (excess === null) return;
    this.#disk.lookSoon();
    await this.#end(excess);
  }

  async #end({ id, reason }: Excess): Promise<void> {
    if (id === null) return killAll(this.#members.get(null) ?? []);
    await this.#listWatched()
      .find((watched) => watched.id === id)
      ?.exceed(reason);
  }
}

const countTasks = (usages: readonly Usage[]): number => usages.reduce((sum, { tasks }) => sum + tasks, 0);

/** Stopped first, so that none starts another meanwhile. A pid may be another process's by now. */
function killAll(processes: readonly ProcessFacts[]): void {
  const present = new Map(listProcesses().map(({ pid, startedAt }) => [pid, startedAt]));
  const ours = processes.filter(({ pid, startedAt }) => present.get(pid) === startedAt);
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const { pid } of ours) sendSignal(pid, signal);
}
