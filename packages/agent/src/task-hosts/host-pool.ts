import type { HeldSecret } from "@keelson/contract";
import { TransientMap } from "@keelson/contract/transient-map";
import type { HostEntrypoint } from "../host/frames.ts";
import type { Logger } from "../log.ts";
import { ExclusiveHosts } from "./exclusive-hosts.ts";
import type { GroupReaper } from "./group-reaper.ts";
import type { HostHomes } from "./host-homes.ts";
import { areSuperseded, hostKey, type HostSpec } from "./host-key.ts";
import { createSpareCpu } from "./spare-cpu.ts";
import type { WaitingRun } from "./host-run.ts";
import { TaskHost } from "./task-host.ts";
import type { NamespaceTier } from "./task-tier.ts";

/** How long a host without a run is kept. */
const IDLE_MS = 60_000;

export type HostPoolOptions = {
  /** Exclusive hosts at most, busy and idle. */
  capacity: number;
  /** Exclusive hosts that boot at a time, at most. */
  boots: number;
  homes: HostHomes;
  environment: Record<string, string>;
  reaper: GroupReaper;
  /** Null: no host of it can be started here. */
  namespace: NamespaceTier | null;
  /** Keeps a bundle's files there until the returned function is called. */
  holdBundle: (digest: string) => () => void;
  /** In milliseconds. */
  monotonic(): number;
  logger: Logger;
};

/**
 * The task hosts of this agent. An exclusive host is lent to one run and comes back warm; shared ones are lent to any
 * number at once. A host belongs to one environment and one set of secret versions. When one of these is replaced, it
 * takes no more runs, and what runs in it goes on.
 */
export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #all = new Set<TaskHost>();
  readonly #exclusive: ExclusiveHosts;
  readonly #shared = new Map<string, TaskHost>();
  /** Runs that wait for a shared host, by their ids. */
  readonly #waiting = new TransientMap<string, WaitingRun>();
  /** Hosts without a run, the one that was given back last at the end. */
  readonly #expiry = new Map<TaskHost, NodeJS.Timeout>();
  readonly #clearing = new Set<Promise<void>>();
  #closed = false;

  constructor(options: HostPoolOptions) {
    this.#options = options;
    this.#exclusive = new ExclusiveHosts({
      boots: options.boots,
      start: (spec) => this.#start(spec),
      makeRoom: () => this.#makeRoom(),
      idle: (host) => this.#expireLater(host),
      taken: (host) => this.#stopExpiry(host),
      hasSpareCpu: createSpareCpu(options.monotonic),
      monotonic: options.monotonic,
    });
  }

  /**
   * Begins the run in a process as soon as there is one; resolves when it has begun, or was withdrawn. Throws `HostBootError`. Give the
   * process back with `release`.
   */
  async begin(spec: HostSpec, run: WaitingRun): Promise<void> {
    const { environmentId, secrets } = spec;
    this.#retire((held) => held.environmentId === environmentId && areSuperseded(held.secrets, secrets));
    if (spec.mode === "exclusive") return this.#exclusive.begin(spec, run);
    this.#waiting.set(run.id, run);
    try {
      const host = await this.#acquireShared(spec);
      if (this.#waiting.has(run.id)) host.give(run);
      else this.release(host);
    } finally {
      this.#waiting.delete(run.id);
    }
  }

  /** The run is not to begin any more. It may have begun until now: then it was told so. */
  withdraw(run: WaitingRun): void {
    if (!this.#waiting.delete(run.id)) this.#exclusive.withdraw(run);
  }

  /** What waits for a process of its own does so until it is withdrawn. */
  beginNoMore(): void {
    this.#exclusive.beginNoMore();
  }

  /** How many runs wait for this process, or for one like it, while the machine has no time to spare for one more. */
  demandFor(host: TaskHost): number {
    return this.#exclusive.demandFor(host);
  }

  /** A run that was begun in this host has ended. */
  release(host: TaskHost): void {
    host.giveBack();
    if (host.spec.mode === "exclusive") this.#exclusive.ended(host);
    if (!host.usable || !host.free) return;
    if (host.spec.mode === "exclusive") this.#exclusive.offer(host);
    else this.#expireLater(host);
  }

  /** Boots a bundle in a fresh process, which stays for its first run when there is room. */
  async check(spec: HostSpec): Promise<HostEntrypoint[]> {
    const host = this.#start(spec);
    host.borrow();
    this.#exclusive.adopt(host);
    try {
      const entrypoints = await host.booted;
      if (this.#all.size > this.#options.capacity) host.retire();
      return entrypoints;
    } finally {
      this.release(host);
    }
  }

  /** Its processes by what they do. */
  counts(): { booting: number; idle: number; busy: number } {
    const counts = { booting: 0, idle: 0, busy: 0 };
    for (const host of this.#all) counts[host.booting ? "booting" : host.free ? "idle" : "busy"] += 1;
    return counts;
  }

  /** The secret versions in the memory of its processes. */
  heldSecrets(): HeldSecret[] {
    const held = new Map<string, HeldSecret>();
    for (const { spec } of this.#all)
      for (const { id, version } of Object.values(spec.secrets))
        held.set(`${id} ${version}`, { environment_id: spec.environmentId, id, version });
    return [...held.values()];
  }

  /** These versions were replaced: processes that have one take no more runs. */
  supersede(versions: readonly HeldSecret[]): void {
    if (versions.length === 0) return;
    const old = new Set(versions.map(({ id, version }) => `${id} ${version}`));
    this.#retire(({ secrets }) =>
      Object.values(secrets).some(({ id, version }) => old.has(`${id} ${version}`)),
    );
  }

  /** Kills every host; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#exclusive.close();
    for (const timer of this.#expiry.values()) clearTimeout(timer);
    this.#expiry.clear();
    const hosts = [...this.#all];
    for (const host of hosts) host.kill("stopped");
    await Promise.all(hosts.map((host) => host.exited));
    await Promise.all(this.#clearing);
  }

  #retire(isOld: (spec: HostSpec) => boolean): void {
    for (const host of this.#all) if (isOld(host.spec)) host.retire();
  }

  async #acquireShared(spec: HostSpec): Promise<TaskHost> {
    for (;;) {
      const host = this.#sharedHost(spec);
      this.#stopExpiry(host);
      host.borrow();
      try {
        await host.booted;
      } catch (error) {
        host.giveBack();
        throw error;
      }
      if (host.usable) return host;
      host.giveBack();
    }
  }

  #sharedHost(spec: HostSpec): TaskHost {
    const key = hostKey(spec);
    const present = this.#shared.get(key);
    if (present?.usable) return present;
    const host = this.#start(spec);
    this.#shared.set(key, host);
    return host;
  }

  #makeRoom(): void {
    if (this.#all.size < this.#options.capacity) return;
    for (const host of this.#expiry.keys()) if (host.spec.mode === "exclusive") return host.retire();
  }

  #start(spec: HostSpec): TaskHost {
    if (this.#closed) throw new Error("the agent is stopping");
    const { homes, environment, reaper, namespace, holdBundle, logger } = this.#options;
    const home = homes.create(spec.user, spec.isolation === "namespace");
    const onUnusable = (): void => this.#forget(host);
    let host: TaskHost;
    try {
      host = new TaskHost({
        ...{ spec, home, environment, reaper, namespace, logger, onUnusable },
        onBegun: (run) => this.#exclusive.begun(run),
        onReturned: (runs) => this.#exclusive.returned(host, runs),
      });
    } catch (error) {
      void homes.clear(home);
      throw error;
    }
    this.#all.add(host);
    // Its code may import more at any time.
    void host.gone.then(holdBundle(spec.digest));
    const clearing = host.gone.then(() => homes.clear(home)).finally(() => this.#clearing.delete(clearing));
    this.#clearing.add(clearing);
    void host.exited.then((death) => {
      this.#all.delete(host);
      logger.debug(
        { pid: host.pid, exitCode: death.exitCode, signal: death.signal, cause: death.killCause },
        "a task host ended",
      );
    });
    return host;
  }

  #forget(host: TaskHost): void {
    this.#stopExpiry(host);
    if (host.spec.mode === "exclusive") this.#exclusive.forget(host);
    else if (this.#shared.get(host.key) === host) this.#shared.delete(host.key);
  }

  #expireLater(host: TaskHost): void {
    this.#stopExpiry(host);
    this.#expiry.set(
      host,
      setTimeout(() => host.retire(), IDLE_MS),
    );
  }

  #stopExpiry(host: TaskHost): void {
    clearTimeout(this.#expiry.get(host));
    this.#expiry.delete(host);
  }
}
