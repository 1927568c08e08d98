import { letPass, patience } from "../../support/until.ts";
import { pick, type Random } from "../../support/seeded-random.ts";
import type { Site } from "./site.ts";
import type { SpawnedProcess } from "./spawned-process.ts";

export interface KillOptions {
  readonly random: Random;
  readonly forMs: number;
  /** The mean time between two kills. */
  readonly everyMs: number;
  /** The killing goes on until this holds, however slow the machine is. */
  readonly isEnough: (kills: number) => boolean;
  readonly signal: AbortSignal;
  /** What may be killed besides; whoever started it has to notice. */
  readonly others?: readonly OtherVictim[];
  /** How many processes may be on their way up at once; default 2. */
  readonly maxDown?: number;
}

export interface OtherVictim {
  readonly name: string;
  /** What runs of it now. */
  find(): readonly number[];
}

export interface Killings {
  /** Name of each victim, in order. */
  readonly victims: string[];
  /** When each was killed, in milliseconds since the epoch. */
  readonly times: number[];
}

type Victim = "postgres" | SpawnedProcess | OtherVictim;

/**
 * Kills one process after another with SIGKILL, PostgreSQL's postmaster among them, and starts each again at once (its
 * supervisor brings PostgreSQL back). Resolves when the time is over or the signal aborts, and everything has been started again.
 */
export async function killAtRandom(
  site: Site,
  processes: readonly SpawnedProcess[],
  options: KillOptions,
): Promise<Killings> {
  const { random, others = [], maxDown = 2 } = options;
  const victims: string[] = [];
  const times: number[] = [];
  const note = (name: string): void => {
    victims.push(name);
    times.push(Date.now());
  };
  const restarts = new Set<Promise<void>>();
  const startedAt = performance.now();
  const isOver = (): boolean => {
    const elapsedMs = performance.now() - startedAt;
    return (
      options.signal.aborted ||
      elapsedMs > patience(options.forMs * 3) ||
      (elapsedMs > options.forMs && options.isEnough(victims.length))
    );
  };
  for (;;) {
    await letPass(options.everyMs * (0.5 + random()), "kills come at random moments");
    // Never all at once: where a start takes longer than the time between two kills nothing would ever be up.
    while (restarts.size >= maxDown) await Promise.race(restarts);
    if (isOver()) break;
    const running = others.filter((other) => other.find().length > 0);
    const victim = pick<Victim>(random, ["postgres", ...processes, ...running]);
    if (victim === "postgres") {
      if (killPostmaster(site)) note(victim);
    } else if ("find" in victim) {
      if (killOneOf(random, victim.find())) note(victim.name);
    } else if (victim.pid !== 0) {
      note(victim.name);
      await victim.kill();
      const restart: Promise<void> = victim.start().finally(() => restarts.delete(restart));
      restarts.add(restart);
    }
  }
  await Promise.all(restarts);
  return { victims, times };
}

/** Its children end when they see that it is gone; when it is down already, its supervisor is about to start it. */
export const killPostmaster = (site: Site): boolean => kill(site.postgres.pid);

const killOneOf = (random: Random, pids: readonly number[]): boolean =>
  pids.length > 0 && kill(pick(random, pids));

/** False when it has ended meanwhile. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    return false;
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
