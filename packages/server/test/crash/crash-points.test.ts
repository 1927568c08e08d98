// A server is killed, or loses its database, at each boundary between two statements of each write. What was half done is
// undone, what was done is not done again, and whatever hangs on it goes on.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { CONTINUATION_WRITES } from "./support/continuation-crash-writes.ts";
import { openStage, type Stage } from "./support/crash-stage.ts";
import { goesOn, type Write } from "./support/crash-write.ts";
import { checkInvariants } from "./support/invariants.ts";
import type { SentStatement } from "./support/postgres-messages.ts";
import type { Breakpoint } from "./support/postgres-proxy.ts";
import { RUN_WRITES } from "./support/run-crash-writes.ts";
import { fewOf, isLong, newSeed } from "../support/seeded-random.ts";
import { SESSION_WRITES } from "./support/session-crash-writes.ts";
import type { ServerProcess } from "./support/site.ts";
import { letPass, until } from "../support/until.ts";
import { TOKEN_WRITES } from "./support/token-crash-writes.ts";

/** What the loops of two idle servers say in this time is no part of a write. */
const LISTEN_MS = 3_500;
const USE_RECORDED_MS = 60_000;
/** A loop of the other server may have done what was to be disturbed, or it was a loop that said it in both learnings. */
const MAX_TRIES = 4;

/** Starting a server takes a second of a core: of so many writes one has its server killed, another one with each seed. */
const KILLED_EVERY = 3;
const seed = newSeed();
const WRITES = fewOf([...SESSION_WRITES, ...TOKEN_WRITES, ...RUN_WRITES, ...CONTINUATION_WRITES], 6, seed);

type Failure = "server killed" | "connections cut";
type Point = { side: Breakpoint["side"]; statement: string; isLast: boolean };

let stage: Stage;
const idleStatements = new Set<string>();
const totals = { "server killed": 0, "connections cut": 0, missed: 0 };
/** A killed server is started while the next points are crossed at the other. */
let restart: { at: number; started: Promise<void> } | null = null;

before(async () => {
  stage = await openStage({ poolSize: 4, proxied: true });
  const listened = listen(({ text }) => idleStatements.add(text));
  // A server that has answered a key says so some seconds later.
  for (const { url } of stage.site.servers) await stage.site.call(url, "GET", "/v1/tasks");
  const isUseRecorded = (): boolean => [...idleStatements].some((text) => text.startsWith("UPDATE api_keys"));
  await letPass(LISTEN_MS, "the loops of the servers say what they say without any write");
  await until("the use of a key is recorded", USE_RECORDED_MS, () => Promise.resolve(isUseRecorded()));
  listened();
  for (const text of ["BEGIN", "COMMIT", "ROLLBACK"]) idleStatements.delete(text);
});
after(() => stage?.stop());

/** Hears each statement that is sent until the result is called. */
function listen(hear: (statement: SentStatement) => void): () => void {
  for (const [at, proxy] of stage.proxies.entries()) {
    const matches = (statement: SentStatement): boolean => {
      if (at !== restart?.at) hear(statement);
      return false;
    };
    void proxy.arm({ side: "before", matches });
  }
  return () => {
    for (const proxy of stage.proxies) void proxy.arm(null);
  };
}

const isChange = (text: string): boolean =>
  /\b(INSERT INTO|UPDATE \w+ |DELETE FROM)/.test(text.replaceAll(/FOR (NO KEY )?UPDATE/g, ""));

/** A sum that a loop writes some time after any write. */
const SAID_LATER = /^\s*INSERT INTO stored_bytes /;
/** Transactions that count and sample some time after any write. */
const COUNTS_LATER = /run_rollup_progress|run_gauge_progress/;

/** Names a statement by its transaction so far; null for what changes nothing by itself, and for what loops say anyway. */
function nameOf({ text, earlier }: SentStatement): string | null {
  if (SAID_LATER.test(text)) return null;
  if ([...earlier, text].some((each) => COUNTS_LATER.test(each))) return null;
  const inTransaction =
    earlier[0]?.startsWith("BEGIN") === true &&
    !earlier.some((each) => each === "COMMIT" || each === "ROLLBACK");
  if (text.startsWith("BEGIN") || text === "ROLLBACK") return null;
  if (!inTransaction) return isChange(text) && !idleStatements.has(text) ? text : null;
  const [first] = [...earlier.slice(1), text];
  if (first === undefined || idleStatements.has(first)) return null;
  if (text === "COMMIT" && !earlier.some(isChange)) return null;
  return [...earlier, text].join(";\n");
}

/** Has the write done without disturbance. @returns the names of what was sent meanwhile. */
async function learnNames(write: Write): Promise<string[]> {
  // What a server says while it starts is not heard, and it may take the write as soon as it answers.
  await restart?.started;
  const act = await write.prepare(stage);
  const names: string[] = [];
  const listened = listen((statement) => {
    const name = nameOf(statement);
    if (name !== null && !names.includes(name)) names.push(name);
  });
  await act.send();
  listened();
  await act.verify?.();
  return names;
}

/** @returns the boundaries of a write. */
async function learnPoints(write: Write): Promise<Point[]> {
  // What a server looks up at its first request it knows afterwards.
  for (const _ of stage.site.servers) await (await write.prepare(stage)).send();
  // What came only once was said by a loop that happened to run then.
  const seen = await learnNames(write);
  const again = new Set(await learnNames(write));
  const names = seen.filter((name) => again.has(name));
  assert.ok(names.length > 0, `nothing was written twice: ${seen.join(" | ")} and ${[...again].join(" | ")}`);
  // Left out are those of a loop that found nothing to do, or found it in other hands.
  const isOfChange = (name: string): boolean =>
    !name.startsWith("BEGIN") || names.some((other) => other.startsWith(name) && other.endsWith("COMMIT"));
  const points = names.filter(isOfChange).flatMap((statement): Point[] => {
    const isLast = statement.endsWith("COMMIT") || !statement.startsWith("BEGIN");
    return (["before", "after"] as const).map((side) => ({ side, statement, isLast }));
  });
  if (isLong()) return points;
  // After a statement and before the next one of its transaction PostgreSQL and the caller know the same, and a transaction
  // that was not committed left nothing, wherever it broke off: each commit on both sides, and one point in the middle.
  const inner = points.filter(({ side, isLast }) => side === "before" && !isLast);
  const middle = inner[inner.length >> 1];
  return points.filter((point) => point.isLast || point === middle);
}

/** @returns whether it failed there. */
async function cross(write: Write, point: Point, failure: Failure): Promise<boolean> {
  const act = await write.prepare(stage);
  const hits = stage.proxies.map(async (proxy, at) => {
    // What a server says while it starts is no part of the write.
    const matches = (statement: SentStatement): boolean =>
      at !== restart?.at && nameOf(statement) === point.statement;
    await proxy.arm({ side: point.side, matches });
    return at;
  });
  const sending = act.send();
  const at = await Promise.race([...hits, sending.then(() => null)]);
  for (const proxy of stage.proxies) void proxy.arm(null);
  if (at !== null) await fail(at, failure);
  const first = await sending;
  assert.deepEqual(await act.send(), first, "a repeat is answered otherwise");
  await checkInvariants(stage.site.db, `${write.name}: ${failure} ${point.side} ${point.statement}`);
  await act.verify?.();
  return at !== null;
}

async function fail(at: number, failure: Failure): Promise<void> {
  const server = stage.site.servers[at] as ServerProcess;
  if (failure === "server killed") await server.kill();
  stage.proxies[at]?.cut();
  if (failure === "server killed") {
    const started = server.start().then(() => {
      restart = null;
    });
    restart = { at, started };
  }
}

/** @returns whether anybody came there. */
async function crossOnce(write: Write, point: Point, failure: Failure): Promise<boolean> {
  if (failure === "server killed") await restart?.started;
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    if (await cross(write, point, failure)) {
      totals[failure] += 1;
      return true;
    }
    totals.missed += 1;
  }
  return false;
}

describe("a server that fails between two statements", () => {
  for (const [at, write] of WRITES.entries()) {
    test(`of ${write.name}`, async () => {
      const points = await learnPoints(write);
      const last = points.findLastIndex(({ side }) => side === "after");
      const killed = (at + seed) % KILLED_EVERY === 0 ? last : null;
      const committed = new Set<Point["side"]>();
      for (const [index, point] of points.entries()) {
        const failures: Failure[] = [];
        if (index === killed || isLong()) failures.push("server killed");
        if (index !== killed || isLong()) failures.push("connections cut");
        for (const failure of failures)
          if ((await crossOnce(write, point, failure)) && point.isLast) committed.add(point.side);
      }
      assert.deepEqual([...committed].toSorted(), ["after", "before"], "no commit was crossed on both sides");
      await checkInvariants(stage.site.db, write.name);
    });
  }

  after(async () => {
    await goesOn("all ends are told", async () => {
      const [row] = await stage.site.db.query<{ count: number }>(
        sql`SELECT count(*) AS count FROM awaited_endings`,
      );
      return Number(row?.count) === 0;
    });
    console.log(
      `seed ${seed} · ${WRITES.length} writes · server killed ×${totals["server killed"]}, connections cut ×${totals["connections cut"]}, ` +
        `${totals.missed} tries met nobody`,
    );
  });
});
