import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { readEvents, type ServerSentEvent } from "../../support/read-events.ts";
import { logChunk, type HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const release = (lease: HeldLease) => lease.operation("release", { outcome: "succeeded" });
const idsOf = (events: ServerSentEvent[]): string[] => events.map(({ id }) => id);

describe("/api/runs", () => {
  test("takes an API key without a selection, and a user with one", async () => {
    const run = await scene.start("plain");
    const { user_token: as, project_id, environment_id } = scene.server.credentials;
    const selection = { project_id, environment_id };
    const query = new URLSearchParams(selection).toString();
    for (const path of [
      "/api/runs",
      `/api/runs/${run.id}`,
      "/api/runs/counts",
      `/api/runs/${run.id}/events`,
    ]) {
      const byKey = await scene.call("GET", path);
      const byUser = await scene.call("GET", `${path}?${query}`, { as });
      assert.deepEqual([byKey.status, byUser.status], [200, 200], path);
      assert.deepEqual(byUser.body, byKey.body);
      assert.equal((await scene.call("GET", path, { as })).body.error.code, "invalid_request");
    }
    const cancelled = await scene.call("POST", `/api/runs/${run.id}/cancel`, { as, body: selection });
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, "cancelled"]);
    assert.equal((await scene.call("POST", `/api/runs/${run.id}/cancel`)).status, 200);
  });

  test("answers its list, item and event page as /v1 does", async () => {
    const lease = await scene.leased();
    await scene.worker.finish(lease);
    for (const path of [
      "/runs?limit=3",
      `/runs/${lease.runId}`,
      `/runs/${lease.runId}/events?limit=3&cursor=1`,
    ]) {
      assert.deepEqual(
        (await scene.call("GET", `/api${path}`)).body,
        (await scene.call("GET", `/v1${path}`)).body,
      );
    }
  });
});

describe("a snapshot of logs", () => {
  const snapshot = async (lease: HeldLease) =>
    (await scene.call("GET", `/api/runs/${lease.runId}/logs`)).body;

  test("is empty before there is output", async () => {
    const run = await scene.start("plain");
    assert.deepEqual((await scene.call("GET", `/api/runs/${run.id}/logs`)).body, {
      stdout: "",
      stderr: "",
      stdout_bytes: 0,
      stderr_bytes: 0,
      truncated: false,
      cursor: "0",
    });
  });

  test("has both streams byte for byte, with their totals and the cursor to follow from", async () => {
    const lease = await scene.leased();
    const bytes = Buffer.from([0, 255, 10, 195, 40]);
    const chunks = [logChunk("out1"), logChunk(bytes, "stderr"), logChunk("out2")];
    await scene.worker.report(lease.operation("logs", { chunks }));
    assert.deepEqual(await snapshot(lease), {
      stdout: Buffer.from("out1out2").toString("base64"),
      stderr: bytes.toString("base64"),
      stdout_bytes: 8,
      stderr_bytes: 5,
      truncated: false,
      cursor: "3",
    });
    const before = await snapshot(lease);
    await scene.worker.report(release(lease));
    assert.deepEqual(await snapshot(lease), before);
  });

  test("has the last 256 KiB of each stream and says that there was more", async () => {
    const lease = await scene.leased();
    const all: Buffer[] = [];
    // Chunks of uneven size, more of them than are read at a time.
    for (let round = 0; round < 5; round += 1) {
      const parts = Array.from({ length: 40 }, (_, index) =>
        Buffer.alloc(1_500 + index, `${round}:${index} `),
      );
      all.push(...parts);
      const chunks = parts.flatMap((part) => [logChunk(part), logChunk("e", "stderr")]);
      assert.deepEqual(await scene.worker.report(lease.operation("logs", { chunks })), [200]);
    }
    const stdout = Buffer.concat(all);
    const body = await snapshot(lease);
    assert.ok(stdout.length > 256 * 1024);
    assert.deepEqual([body.stdout_bytes, body.stderr_bytes, body.truncated], [stdout.length, 200, true]);
    assert.ok(Buffer.from(body.stdout, "base64").equals(stdout.subarray(stdout.length - 256 * 1024)));
    assert.equal(Buffer.from(body.stderr, "base64").toString(), "e".repeat(200));
    assert.equal(body.cursor, "400");
  });
});

describe("following a run", () => {
  const path = (lease: { runId: string }, feed: string, query = ""): string =>
    `/api/runs/${lease.runId}/${feed}?follow=1${query}`;

  test("shows events as they come, then end with the final state", async () => {
    const lease = await scene.leased();
    const seen: string[] = [];
    const following = readEvents(scene.server, path(lease, "events"), {
      until: ({ id, data }) => {
        seen.push(`${id} ${data.kind ?? data.status}`);
        return false;
      },
    });
    await scene.worker.report(lease.operation("start"));
    await scene.worker.report(lease.operation("metadata", { changes: [{ op: "set", key: "a", value: 1 }] }));
    await scene.worker.report(release(lease));
    const events = await following;
    assert.deepEqual(seen, [
      "1 run.created",
      "2 run.queued",
      "3 run.leased",
      "4 run.started",
      "5 metadata.updated",
      "6 run.succeeded",
      "6 succeeded",
    ]);
    assert.deepEqual(
      events.map(({ event }) => event),
      [...Array.from({ length: 6 }, () => "run_event"), "end"],
    );
    assert.deepEqual(events.at(-1)?.data, { run_id: lease.runId, status: "succeeded" });
    const page = await scene.call("GET", `/api/runs/${lease.runId}/events`);
    assert.deepEqual(
      events.slice(0, -1).map(({ data }) => data),
      page.body.events,
    );
  });

  test("begins by the Accept header as well, with the retry frame first and without caching", async () => {
    const run = await scene.start("plain");
    await scene.cancel(run.id);
    const response = await fetch(`${scene.server.url}/api/runs/${run.id}/events`, {
      headers: { authorization: `Bearer ${scene.server.credentials.api_key}`, accept: "text/event-stream" },
    });
    assert.deepEqual(
      [response.status, response.headers.get("cache-control"), response.headers.get("x-accel-buffering")],
      [200, "no-store", "no"],
    );
    const text = await response.text();
    assert.ok(text.startsWith("retry: 1000\n\n"), text.slice(0, 40));
    assert.ok(text.endsWith("\n\n"));
    assert.match(text, /\nevent: end\ndata: \{[^\n]*"status":"cancelled"[^\n]*\}\n\n$/);
  });

  test("shows log chunks in order, and ends when the run does", async () => {
    const lease = await scene.leased();
    const following = readEvents(scene.server, path(lease, "logs"));
    const texts = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);
    for (const text of texts)
      await scene.worker.report(lease.operation("logs", { chunks: [logChunk(text)] }));
    await scene.worker.report(release(lease));
    const events = await following;
    assert.deepEqual(
      events.slice(0, -1).map(({ data }) => Buffer.from(data.data, "base64").toString()),
      texts,
    );
    assert.ok(
      events.slice(0, -1).every(({ event, data }) => event === "run_log" && data.run_id === lease.runId),
    );
    assert.equal(events.at(-1)?.event, "end");
  });

  for (const feed of ["events", "logs"]) {
    test(`resumes ${feed} after Last-Event-ID, which wins over cursor`, async () => {
      const lease = await scene.leased();
      const chunks = Array.from({ length: 6 }, (_, index) => logChunk(`${index}`));
      await scene.worker.report(lease.operation("start"), lease.operation("logs", { chunks }));
      await scene.worker.report(
        lease.operation("metadata", { changes: [{ op: "set", key: "a", value: 1 }] }),
      );
      await scene.worker.report(release(lease));
      // Entries 1 to 6 of either feed; `end` has the id of the last one.
      const all = await readEvents(scene.server, path(lease, feed));
      assert.deepEqual(idsOf(all), ["1", "2", "3", "4", "5", "6", "6"]);
      for (const [headers, query, expected] of [
        [{ "last-event-id": "4" }, "", ["5", "6", "6"]],
        [{}, "&cursor=4", ["5", "6", "6"]],
        [{ "last-event-id": "5" }, "&cursor=1", ["6", "6"]],
        [{ "last-event-id": "0" }, "&cursor=5", ["1", "2", "3", "4", "5", "6", "6"]],
      ] as const) {
        assert.deepEqual(
          idsOf(await readEvents(scene.server, path(lease, feed, query), { headers })),
          expected,
        );
      }
    });

    test(`gives end of ${feed} at once to a reader that reconnects after it`, async () => {
      const lease = await scene.leased();
      await scene.worker.report(lease.operation("logs", { chunks: [logChunk("x")] }), release(lease));
      const end = (await readEvents(scene.server, path(lease, feed))).at(-1);
      const again = await readEvents(scene.server, path(lease, feed), {
        headers: { "last-event-id": end?.id ?? "" },
      });
      assert.deepEqual(again, [end]);
      // Also from beyond anything that was ever written.
      const beyond = await readEvents(scene.server, path(lease, feed, "&cursor=999999999999999"));
      assert.deepEqual(
        beyond.map(({ event, data }) => [event, data.status]),
        [["end", "succeeded"]],
      );
    });

    test(`refuses a cursor of ${feed} that is no number, before the stream begins`, async () => {
      const run = await scene.start("plain");
      const query = await scene.call("GET", path({ runId: run.id }, feed, "&cursor=abc"));
      const header = await scene.call("GET", path({ runId: run.id }, feed), {
        headers: { "last-event-id": "abc" },
      });
      for (const { status, body } of [query, header]) {
        assert.deepEqual([status, body.error.code], [400, "invalid_cursor"]);
      }
    });

    test(`does not find ${feed} of an absent run`, async () => {
      const answer = await scene.call("GET", path({ runId: "run_00000000000000000000000000" }, feed));
      assert.deepEqual([answer.status, answer.body.error.code], [404, "not_found"]);
    });
  }

  test("gives many readers that reconnect at every entry each entry exactly once", async () => {
    const lease = await scene.leased();
    const count = 40;
    const reader = async (): Promise<string[]> => {
      const seen: string[] = [];
      for (;;) {
        const headers: Record<string, string> =
          seen.length === 0 ? {} : { "last-event-id": seen.at(-1) as string };
        let left = 1 + (seen.length % 5);
        const events = await readEvents(scene.server, path(lease, "logs"), {
          headers,
          until: () => {
            left -= 1;
            return left === 0;
          },
        });
        seen.push(...events.filter(({ event }) => event === "run_log").map(({ id }) => id));
        if (events.at(-1)?.event === "end") return seen;
      }
    };
    const readers = Array.from({ length: 5 }, reader);
    for (let index = 0; index < count; index += 1) {
      await scene.worker.report(lease.operation("logs", { chunks: [logChunk(`${index}`)] }));
    }
    await scene.worker.report(release(lease));
    const expected = Array.from({ length: count }, (_, index) => String(index + 1));
    for (const seen of await Promise.all(readers)) assert.deepEqual(seen, expected);
  });
});
