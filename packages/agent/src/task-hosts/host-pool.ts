import type { HostEntrypoint } from "../host/frames.ts";
import type { Logger } from "../log.ts";
import type { GroupReaper } from "./group-reaper.ts";
import { hostKey, type HostSpec } from "./host-process.ts";
import { TaskHost } from "./task-host.ts";

/** How long a host without a run is kept. */
const IDLE_MS = 60_000;

export type HostPoolOptions = {
  /** Exclusive hosts at most, busy and idle. */
  capacity: number;
  environment: Record<string, string>;
  reaper: GroupReaper;
  logger: Logger;
};

/**
 * The task hosts of this agent. An exclusive host is lent to one run and comes back warm; shared ones are lent to any
 * number at once. Hosts of the same bundle, mode and memory limit are interchangeable.
 */
export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #all = new Set<TaskHost>();
  /** Idle exclusive hosts, the one used last at the end. */
  #idle: TaskHost[] = [];
  readonly #shared = new Map<string, TaskHost>();
  readonly #expiry = new Map<TaskHost, NodeJS.Timeout>();
  #closed = false;

  constructor(options: HostPoolOptions) {
    this.#options = options;
  }

  /** A booted host to run in; throws `HostBootError`. Give it back with `release`. */
  async acquire(spec: HostSpec): Promise<TaskHost> {
    for (;;) {
      const host = spec.mode === "shared" ? this.#acquireShared(spec) : this.#acquireExclusive(spec);
      this.#stopExpiry(host);
      await host.booted;
      if (host.usable) return host;
    }
  }

  /** A run that held this host has ended. */
  release(host: TaskHost): void {
    if (!host.usable) return;
    if (host.spec.mode === "exclusive") {
      this.#idle.push(host);
      this.#expireLater(host);
    } else if (host.activeRuns === 0) {
      this.#expireLater(host);
    }
  }

  /** Boots a bundle in a fresh process, which stays for its first run when there is room. */
  async check(spec: HostSpec): Promise<HostEntrypoint[]> {
    const host = this.#start(spec);
    const entrypoints = await host.booted;
    if (this.#all.size > this.#options.capacity) host.retire();
    else this.release(host);
    return entrypoints;
  }

  /** Kills every host; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#expiry.values()) clearTimeout(timer);
    this.#expiry.clear();
    const hosts = [...this.#all];
    for (const host of hosts) host.kill("stopped");
    await Promise.all(hosts.map((host) => host.exited));
  }

  #acquireShared(spec: HostSpec): TaskHost {
    const key = hostKey(spec);
    const present = this.#shared.get(key);
    if (present?.usable) return present;
    const host = this.#start(spec);
    this.#shared.set(key, host);
    return host;
  }

  #acquireExclusive(spec: HostSpec): TaskHost {
    const key = hostKey(spec);
    // The one used last is the warmest.
    const at = this.#idle.findLastIndex((host) => host.key === key);
    if (at >= 0) return this.#idle.splice(at, 1)[0] as TaskHost;
    if (this.#all.size >= this.#options.capacity) this.#idle[0]?.retire();
    return this.#start(spec);
  }

  #start(spec: HostSpec): TaskHost {
    if (this.#closed) throw new Error("the agent is stopping");
    const { environment, reaper, logger } = this.#options;
    const host: TaskHost = new TaskHost({
      spec,
      environment,
      reaper,
      logger,
      onUnusable: () => this.#forget(host),
    });
    this.#all.add(host);
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
    this.#idle = this.#idle.filter((other) => other !== host);
    if (this.#shared.get(host.key) === host) this.#shared.delete(host.key);
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
