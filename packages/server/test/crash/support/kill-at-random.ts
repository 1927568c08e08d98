import { setTimeout as sleep } from "node:timers/promises";
import { pick, type Random } from "./seeded-random.ts";
import type { Site } from "./site.ts";
import type { SpawnedProcess } from "./spawned-process.ts";

export interface KillOptions {
  readonly random: Random;
  readonly forMs: number;
  /** The mean time between two kills. */
  readonly everyMs: number;
  /** On a slow machine the killing goes on until this holds, or for three times as long. */
  readonly isEnough: () => boolean;
  readonly signal: AbortSignal;
}

export interface Killings {
  /** Name of each victim, in order. */
  readonly victims: string[];
}

const MAX_DOWN = 2;

/**
 * Kills one process after another with SIGKILL, PostgreSQL's postmaster among them, and starts each again at once (its
 * supervisor brings PostgreSQL back). Resolves when the time is over or the signal aborts, and everything has been started again.
 */
export async function killAtRandom(
  site: Site,
  processes: readonly SpawnedProcess[],
  options: KillOptions,
): Promise<Killings> {
  const { random } = options;
  const victims: string[] = [];
  const restarts = new Set<Promise<void>>();
  const startedAt = performance.now();
  const isOver = (): boolean => {
    const elapsedMs = performance.now() - startedAt;
    return (
      options.signal.aborted ||
      elapsedMs > options.forMs * 3 ||
      (elapsedMs > options.forMs && options.isEnough())
    );
  };
  for (;;) {
    await sleep(options.everyMs * (0.5 + random()));
    // Never all at once: where a start takes longer than the time between two kills nothing would ever be up.
    while (restarts.size >= MAX_DOWN) await Promise.race(restarts);
    if (isOver()) break;
    const victim = pick<SpawnedProcess | "postgres">(random, ["postgres", ...processes]);
    if (victim === "postgres") {
      victims.push(victim);
      killPostmaster(site);
    } else if (victim.pid !== 0) {
      victims.push(victim.name);
      await victim.kill();
      const restart: Promise<void> = victim.start().finally(() => restarts.delete(restart));
      restarts.add(restart);
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
  return [...counts]
    .map(([name, count]) => `${name} ×${count}`)
    .toSorted()
    .join(", ");
}
