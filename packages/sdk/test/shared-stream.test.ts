// The tabs of a browser read a stream by one connection. Here tabs are readers of one process: their channels and locks are the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RecordOf } from "@keelson/sdk/client";
import { sharedStream } from "../src/ai/shared-stream.ts";
import { until } from "../../server/test/support/until.ts";
import { newSeed, seededRandom } from "../../server/test/support/seeded-random.ts";

let logs = 0;

/** A stream without gaps, and how often it is being read. */
class Log {
  readonly name = `log ${(logs += 1)}`;
  length = 0;
  readers = 0;
  /** Connections so far. */
  opened = 0;
  isOver = false;
  failure: Error | null = null;
  readonly #wakes = new Set<() => void>();

  change(apply: (log: this) => void): void {
    apply(this);
    for (const wake of this.#wakes) wake();
  }

  append(count = 1): void {
    this.change(() => void (this.length += count));
  }

  async *follow(cursor: number, signal: AbortSignal): AsyncGenerator<RecordOf<unknown>> {
    this.readers += 1;
    this.opened += 1;
    try {
      for (let at = cursor; !signal.aborted;) {
        await nextTurn();
        if (this.failure !== null) throw this.failure;
        if (at < this.length) yield { sequence: (at += 1), data: `record ${at}` } as RecordOf<unknown>;
        else if (this.isOver) return;
        else await this.#changed(signal);
      }
    } finally {
      this.readers -= 1;
    }
  }

  #changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}

/** A tab that reads from a cursor until it is closed. */
class Tab {
  readonly read: number[] = [];
  readonly ended: Promise<unknown>;
  readonly #closed = new AbortController();

  /** @param last where the tab is refused */
  constructor(log: Log, cursor = 0, last = Number.POSITIVE_INFINITY) {
    async function* open(...from: Parameters<Log["follow"]>): AsyncGenerator<RecordOf<unknown>> {
      for await (const record of log.follow(...from)) {
        if (record.sequence > last) throw new Error("The token has been revoked");
        yield record;
      }
    }
    const records = sharedStream(log.name, open)(cursor, this.#closed.signal);
    this.ended = this.#readAll(records).catch((error: unknown) => error);
  }

  async #readAll(records: AsyncIterable<RecordOf<unknown>>): Promise<"over"> {
    for await (const { sequence } of records) this.read.push(sequence);
    return "over";
  }

  close(): Promise<unknown> {
    this.#closed.abort();
    return this.ended;
  }
}

const from = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

const has = (tab: Tab, first: number, last: number): Promise<void> =>
  until(`it has ${first} to ${last}`, 60_000, async () => {
    if (tab.read.length < last - first + 1) return false;
    assert.deepEqual(tab.read, from(first, last));
    return true;
  });

test("tabs have one connection, each from where it begins", async () => {
  const log = new Log();
  log.append(5);
  const first = new Tab(log, 2);
  await has(first, 3, 5);
  const [later, earlier] = [new Tab(log, 4), new Tab(log, 0)];
  log.append(3);
  await Promise.all([has(first, 3, 8), has(later, 5, 8), has(earlier, 1, 8)]);
  assert.equal(log.readers, 1);
  // Once more for the one that began before all that had been read.
  assert.equal(log.opened, 2);
  await Promise.all([first, later, earlier].map((tab) => tab.close()));
  await until("nobody reads", 60_000, async () => log.readers === 0);
});

test("another tab goes on when the one that reads is closed", async () => {
  const log = new Log();
  const [first, second, third] = [new Tab(log), new Tab(log), new Tab(log)];
  log.append(3);
  await Promise.all([has(first, 1, 3), has(second, 1, 3), has(third, 1, 3)]);
  log.append(2);
  await first.close();
  log.append(2);
  await Promise.all([has(second, 1, 7), has(third, 1, 7)]);
  assert.equal(log.readers, 1);
  await Promise.all([second.close(), third.close()]);
});

test("all tabs hear of the end, and of what forbids to read", async () => {
  const log = new Log();
  log.append(2);
  const tabs = [new Tab(log), new Tab(log, 1)];
  await Promise.all([has(tabs[0] as Tab, 1, 2), has(tabs[1] as Tab, 2, 2)]);
  log.change(() => void (log.isOver = true));
  assert.deepEqual(await Promise.all(tabs.map(({ ended }) => ended)), ["over", "over"]);

  const forbidden = new Log();
  const refused = [new Tab(forbidden), new Tab(forbidden)];
  forbidden.change(() => void (forbidden.failure = new Error("The token has been revoked")));
  for (const { ended } of refused) assert.match(String(await ended), /The token has been revoked/);
});

test("a tab that may not read any more leaves the others", async () => {
  const log = new Log();
  const refused = new Tab(log, 0, 2);
  const others = [new Tab(log), new Tab(log)];
  log.append(2);
  await Promise.all([refused, ...others].map((tab) => has(tab, 1, 2)));
  log.append(2);
  assert.match(String(await refused.ended), /The token has been revoked/);
  await Promise.all(others.map((tab) => has(tab, 1, 4)));
  await Promise.all(others.map((tab) => tab.close()));
});

test("no tab misses a record or has one twice, however they come and go", async (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 40; round += 1) {
    const log = new Log();
    const tabs: { tab: Tab; cursor: number }[] = [];
    for (let step = 0; step < 30; step += 1) {
      const chance = random();
      if (chance < 0.4) log.append(1 + Math.floor(random() * 3));
      else if (chance < 0.6 || tabs.length === 0) {
        const cursor = Math.floor(random() * (log.length + 1));
        tabs.push({ tab: new Tab(log, cursor), cursor });
      } else if (chance < 0.7) {
        const [left] = tabs.splice(Math.floor(random() * tabs.length), 1);
        if (left !== undefined) {
          await left.tab.close();
          assert.deepEqual(left.tab.read, from(left.cursor + 1, left.cursor + left.tab.read.length));
        }
      } else await nextTurn();
    }
    await Promise.all(tabs.map(({ tab, cursor }) => has(tab, cursor + 1, log.length)));
    assert.ok(log.readers <= 1, String(log.readers));
    await Promise.all(tabs.map(({ tab }) => tab.close()));
    await until("nobody reads", 60_000, async () => log.readers === 0);
  }
});
