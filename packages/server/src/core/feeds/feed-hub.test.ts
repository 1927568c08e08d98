import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Uuid } from "@keelson/contract";
import { createFeedHub } from "./feed-hub.ts";
import type { FeedWatch } from "./feed-watch.ts";
import type { Feed, FeedPage, Sink } from "./feed.ts";
import { createWakes, type Wakes } from "./wakes.ts";

const PAGE = 3;
/** No wake is lost but where a test says so. */
const NO_WATCH: FeedWatch = { watch: () => () => undefined };

/** A feed of the numbers 1, 2, … as far as they were appended, in pages of three. */
function numbers(wakes: Wakes) {
  const state = { length: 0, isOver: false, reads: 0, failure: null as Error | null };
  const feed: Feed<number[]> = {
    key: "numbers",
    source: { kind: "stream", environmentId: "e" as Uuid<"env">, id: "n" },
    wakeKey: "n",
    read: async (after): Promise<FeedPage<number[]>> => {
      state.reads += 1;
      await new Promise(setImmediate);
      if (state.failure !== null) throw state.failure;
      const count = Math.min(PAGE, Math.max(0, state.length - after));
      const batch = Array.from({ length: count }, (_, n) => after + n + 1);
      const end = state.isOver && count === 0 ? "over" : undefined;
      return { batch: count === 0 ? null : batch, cursor: after + count, end };
    },
  };
  const append = (count: number): void => {
    state.length += count;
    wakes.wake("n");
  };
  const finish = (): void => {
    state.isOver = true;
    wakes.wake("n");
  };
  return { state, feed, append, finish };
}

/** Takes everything, or so many batches until it is drained. */
function collector(takes = Number.POSITIVE_INFINITY) {
  const got: number[] = [];
  let left = takes;
  let drain: (() => void) | null = null;
  const sink: Sink<number[]> = {
    turn: () => undefined,
    write: (batch) => {
      got.push(...batch);
      left -= 1;
      return left > 0;
    },
    drained: () =>
      new Promise((resolve) => {
        drain = () => {
          left = takes;
          resolve();
        };
      }),
  };
  const has = async (count: number): Promise<void> => {
    while (got.length < count) await new Promise(setImmediate);
  };
  return { got, sink, has, isFull: () => drain !== null, drain: () => drain?.() };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

const over = new AbortController();
after(() => over.abort());

function scene() {
  const wakes = createWakes(() => undefined);
  return {
    wakes,
    hub: createFeedHub<number[]>({ wakes, watch: NO_WATCH }),
    never: over.signal,
    ...numbers(wakes),
  };
}

describe("followers of a feed", () => {
  it("each get everything after their cursor, wherever they begin and whenever they come", async () => {
    const { hub, feed, append, finish, never } = scene();
    append(10);
    const early = collector();
    const late = collector();
    const ends = [hub.follow(feed, 0, early.sink, never)];
    await early.has(10);
    append(1);
    ends.push(hub.follow(feed, 7, late.sink, never));
    for (let n = 0; n < 20; n += 1) {
      append(2);
      if (n % 3 === 0) await new Promise(setImmediate);
    }
    finish();
    assert.deepEqual(await Promise.all(ends), [
      { state: "over", cursor: 51 },
      { state: "over", cursor: 51 },
    ]);
    assert.deepEqual(early.got, upTo(51));
    assert.deepEqual(late.got, upTo(51).slice(7));
  });

  it("share one read of what is new, however many they are", async () => {
    const { hub, feed, append, state, never } = scene();
    const all = Array.from({ length: 100 }, () => collector());
    for (const { sink } of all) void hub.follow(feed, 0, sink, never);
    append(1);
    await Promise.all(all.map(({ has }) => has(1)));
    const before = state.reads;
    append(1);
    await Promise.all(all.map(({ has }) => has(2)));
    // Those of a hundred that were still on their way share theirs too.
    assert.ok(state.reads - before <= 10, `${state.reads - before} reads`);
  });

  it("that take no more for now are given the rest when they do, and hold nobody up", async () => {
    const { hub, feed, append, finish, never } = scene();
    const slow = collector(2);
    const quick = collector();
    const ends = [hub.follow(feed, 0, slow.sink, never), hub.follow(feed, 0, quick.sink, never)];
    for (let count = 1; count <= 9; count += 1) {
      append(1);
      await quick.has(count);
    }
    assert.deepEqual(slow.got, [1, 2]);
    assert.ok(slow.isFull());
    finish();
    await ends[1];
    while (slow.got.length < 9) {
      slow.drain();
      await new Promise(setImmediate);
    }
    slow.drain();
    assert.deepEqual(await ends[0], { state: "over", cursor: 9 });
    assert.deepEqual(slow.got, upTo(9));
  });

  it("get what is offered once and in order, whether or not it is read too", async () => {
    const { hub, feed, append, finish, state, wakes, never } = scene();
    const all = [collector(), collector(3), collector()];
    const ends = all.map(({ sink }) => hub.follow(feed, 0, sink, never));
    for (let n = 0; n < 300; n += 1) {
      const from = state.length;
      if (n % 3 === 0) append(1 + (n % 2));
      else {
        state.length += 2;
        const [to, offered] = [state.length, [from + 1, from + 2]];
        // Stored one after the other, told of in another order now and then.
        const offer = (): void => hub.offer("numbers", from, to, () => offered);
        wakes.wake("n", to);
        if (n % 7 === 0) setImmediate(offer);
        else offer();
      }
      if (n % 5 === 0) await new Promise(setImmediate);
      all[1]?.drain();
    }
    finish();
    const draining = setInterval(() => all[1]?.drain());
    await Promise.all(ends);
    clearInterval(draining);
    for (const { got } of all) assert.deepEqual(got, upTo(state.length));
  });

  it("that are given their turn later get everything once and in order, whatever is offered meanwhile", async () => {
    const { hub, feed, append, finish, state, wakes, never } = scene();
    const turns: (() => void)[] = [];
    const all = [collector(), collector(), collector()];
    const ends = all.map(({ sink }, which) =>
      hub.follow(
        feed,
        0,
        {
          ...sink,
          turn: () =>
            which === 0 ? undefined : new Promise<void>((resolve) => void turns.push(() => resolve())),
        },
        never,
      ),
    );
    for (let n = 0; n < 100; n += 1) {
      const from = state.length;
      if (n % 3 === 0) append(1);
      else {
        state.length += 1;
        wakes.wake("n", from + 1);
        hub.offer("numbers", from, from + 1, () => [from + 1]);
      }
      if (n % 2 === 0) await new Promise(setImmediate);
      // One of them is behind the other now and then, in either order.
      (n % 4 === 0 ? turns.pop() : turns.shift())?.();
    }
    finish();
    const going = setInterval(() => turns.shift()?.());
    await Promise.all(ends);
    clearInterval(going);
    for (const { got } of all) assert.deepEqual(got, upTo(100));
  });

  it("are offered what is new without a read", async () => {
    const { hub, feed, append, state, wakes, never } = scene();
    const { got, sink, has } = collector();
    void hub.follow(feed, 0, sink, never);
    append(1);
    await has(1);
    // The tip has looked, and waits.
    for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
    const { reads } = state;
    for (let n = 1; n <= 50; n += 1) {
      state.length += 1;
      wakes.wake("n", state.length);
      hub.offer("numbers", n, n + 1, () => [n + 1]);
      await has(n + 1);
    }
    assert.deepEqual(got, upTo(51));
    assert.equal(state.reads, reads);
  });

  it("stop when their signal is aborted, and the others go on", async () => {
    const { hub, feed, append, finish, never } = scene();
    const leaving = new AbortController();
    const [gone, stays] = [collector(), collector()];
    const left = hub.follow(feed, 0, gone.sink, leaving.signal);
    const end = hub.follow(feed, 0, stays.sink, never);
    append(1);
    await Promise.all([gone.has(1), stays.has(1)]);
    leaving.abort();
    assert.equal(await left, null);
    append(1);
    finish();
    assert.deepEqual(await end, { state: "over", cursor: 2 });
    assert.deepEqual(gone.got, [1]);
    assert.deepEqual(stays.got, [1, 2]);
  });

  it("are all told when a read fails, and whoever comes then begins anew", async () => {
    const { hub, feed, append, finish, state, never } = scene();
    const all = [collector(), collector()];
    const ends = all.map(({ sink }) => hub.follow(feed, 0, sink, never));
    append(1);
    await Promise.all(all.map(({ has }) => has(1)));
    state.failure = new Error("lost");
    append(1);
    for (const end of ends) await assert.rejects(end, /lost/);
    state.failure = null;
    finish();
    const again = collector();
    assert.deepEqual(await hub.follow(feed, 1, again.sink, never), { state: "over", cursor: 2 });
    assert.deepEqual(again.got, [2]);
  });

  it("that have read more than the tip has do not wait for its next look", { timeout: 1_500 }, async () => {
    const { hub, feed, append, state, never } = scene();
    append(1);
    const first = collector();
    void hub.follow(feed, 0, first.sink, never);
    await first.has(1);
    while (state.reads < 3) await new Promise(setImmediate);
    // Nobody is woken: the wake was lost on its way from another replica.
    state.length += 1;
    const second = collector();
    void hub.follow(feed, 0, second.sink, never);
    await Promise.all([first.has(2), second.has(2)]);
    assert.deepEqual(first.got, [1, 2]);
    assert.deepEqual(second.got, [1, 2]);
  });
});
