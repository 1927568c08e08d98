import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "@keelson/contract";
import { createFeedHub } from "../../../core/feeds/feed-hub.ts";
import { createWakes } from "../../../core/feeds/wakes.ts";
import type { NewOutput } from "../../../core/processes/process-writes.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { Frames } from "../../edge/event-stream.ts";
import { followOutput, offerOutput } from "./follow-output.ts";

const PROCESS = "0199aaaa-0000-7000-8000-000000000001" as Uuid<never>;
const key = { environmentId: PROCESS, workspaceId: PROCESS, kind: "exec", id: PROCESS } as const;
const piece = (stream: NewOutput["stream"], position: number, bytes: number): NewOutput => ({
  ...{ stream, position, data: Buffer.alloc(bytes, "x"), at: 0 },
});

/** A follower of stdout that has everything, of a feed in which a read finds nothing. */
async function startFollower() {
  const feeds = createFeedHub<Frames>({
    wakes: createWakes(() => undefined),
    watch: { watch: () => () => undefined },
  });
  const server = { feeds } as unknown as ServerContext;
  const reply = followOutput(server, key, "stdout", 0);
  assert.ok("events" in reply && "feed" in reply.events);
  const reads: number[] = [];
  const second = Promise.withResolvers<void>();
  const feed = {
    ...reply.events.feed,
    read: (cursor: number) => {
      if (reads.push(cursor) === 2) second.resolve();
      return Promise.resolve({ batch: null, cursor, end: undefined });
    },
  };
  const ids: string[] = [];
  const sink = {
    turn: () => undefined,
    write: (frames: Frames) =>
      ids.push(...[...String(frames).matchAll(/^id: (.*)$/gm)].map(([, id]) => String(id))) > 0,
    drained: () => Promise.resolve(),
  };
  const abort = new AbortController();
  const followed = feeds.follow(feed, 0, sink, abort.signal);
  await second.promise;
  return { server, ids, stop: () => (abort.abort(), followed) };
}

test("a follower at the tip is given stored output of its stream without a read", async () => {
  const { server, ids, stop } = await startFollower();
  offerOutput(server, PROCESS, [piece("stdout", 0, 3), piece("stderr", 0, 9), piece("stdout", 3, 4)]);
  offerOutput(server, PROCESS, [piece("stdout", 7, 1)]);
  assert.deepEqual(ids, ["3", "7", "8"]);
  await stop();
});

test("what does not go on where the follower is, or is more than one read gives, is left to be read", async () => {
  const { server, ids, stop } = await startFollower();
  offerOutput(server, PROCESS, [piece("stdout", 5, 1)]);
  offerOutput(server, PROCESS, [piece("stdout", 0, 128 * 1024 + 1)]);
  assert.deepEqual(ids, []);
  await stop();
});
