import { startChild, type Child } from "../harness/child.ts";
import type { PgBossCommand } from "./pg-boss-process.ts";

const MODULE = new URL("./pg-boss-process.ts", import.meta.url);

type Worked = { firstAtMs: number; lastAtMs: number };

const ask = <T>(child: Child, command: PgBossCommand): Promise<T> => child.ask<T>(command, 60_000);

/** Jobs a second from the first `send` of `callers` concurrent callers until the last is completed by one worker. */
export async function measurePgBossEndToEnd(url: string, jobs: number, callers: number): Promise<number> {
  const sender = startChild(MODULE);
  const worker = startChild(MODULE);
  try {
    await ask(sender, { do: "fill", url, jobs: 0 });
    await ask<"working">(worker, { do: "work", url, jobs });
    const worked = worker.next<Worked>(120_000);
    const sent = ask<{ calledAtMs: number }>(sender, { do: "send", url, jobs, callers });
    const [{ lastAtMs }, { calledAtMs }] = await Promise.all([worked, sent]);
    return (jobs * 1000) / (lastAtMs - calledAtMs);
  } finally {
    await Promise.all([sender.stop(), worker.stop()]);
  }
}

/** Jobs a second that one pg-boss worker drains from a backlog. */
export async function measurePgBossDrain(url: string, jobs: number): Promise<number> {
  const filler = startChild(MODULE);
  const worker = startChild(MODULE);
  try {
    await ask(filler, { do: "fill", url, jobs });
    await ask<"working">(worker, { do: "work", url, jobs });
    const { firstAtMs, lastAtMs } = await worker.next<Worked>(60_000);
    return (jobs * 1000) / (lastAtMs - firstAtMs);
  } finally {
    await Promise.all([filler.stop(), worker.stop()]);
  }
}
