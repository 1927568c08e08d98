import { setTimeout as sleep } from "node:timers/promises";
import { pick, type Random } from "./seeded-random.ts";
import type { Site } from "./site.ts";
import type { SpawnedProcess } from "./spawned-process.ts";

export interface Killings {
  /** Name of each victim, in order. */
  readonly victims: string[];
}

/**
 * Kills one process after another with SIGKILL, PostgreSQL's postmaster among them, and starts each again at once (its
 * supervisor brings PostgreSQL back). Resolves when the time is over or the signal aborts, and everything has been started again.
 */
export async function killAtRandom(
  site: Site,
  processes: readonly SpawnedProcess[],
  options: { random: Random; forMs: number; everyMs: number; signal: AbortSignal },
): Promise<Killings> {
  const { random } = options;
  const victims: string[] = [];
  const restarts: Promise<void>[] = [];
  const deadline = performance.now() + options.forMs;
  for (;;) {
    await sleep(options.everyMs * (0.5 + random()));
    if (performance.now() > deadline || options.signal.aborted) break;
    const victim = pick<SpawnedProcess | "postgres">(random, ["postgres", ...processes]);
    if (victim === "postgres") {
      victims.push(victim);
      killPostmaster(site);
    } else if (victim.pid !== 0) {
      victims.push(victim.name);
      await victim.kill();
      restarts.push(victim.start());
    }
  }
  await Promise.all(restarts);
  return { victims };
}

/** Its children end when they see that it is gone. */
export function killPostmaster(site: Site): void {
  try {
    process.kill(site.postgres.pid, "SIGKILL");
  } catch (error) {
    // It is down already and its supervisor is about to start it.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** `server 1 ×3, postgres ×2` */
export function countVictims({ victims }: Killings): string {
  const counts = new Map<string, number>();
  for (const victim of victims) counts.set(victim, (counts.get(victim) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} ×${count}`).toSorted().join(", ");
}
