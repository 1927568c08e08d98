import type { HostHome } from "./host-homes.ts";
import type { HostSpec } from "./host-key.ts";
import { spawnHost, type HostProcess } from "./host-process.ts";
import { spawnIsolatedHost } from "./isolated-host.ts";
import type { NamespaceTier } from "./task-tier.ts";

export type HostStart = {
  spec: HostSpec;
  home: HostHome;
  environment: Record<string, string>;
  /** Null: no host of it can be started here. */
  namespace: NamespaceTier | null;
  /** What an exclusive host reads its tickets from; null for a shared one. */
  ticketsFd: number | null;
};

/** Starts the process of a host in the tier that is asked for, and never in less. */
export function startHost({ spec, home, environment, namespace, ticketsFd }: HostStart): HostProcess {
  if (spec.isolation === "process") return spawnHost(home, spec.memoryMb, environment, ticketsFd);
  if (namespace === null) throw new Error("this worker has no namespace tier for tasks");
  return spawnIsolatedHost(home, spec, environment, namespace.means, ticketsFd);
}
