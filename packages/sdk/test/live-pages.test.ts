// What a page shows of a run and of a session, as its hooks have it, without a browser.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { Client } from "@keelson/sdk";
import { createSessionClient, NotFoundError, PermissionError, watchRun } from "@keelson/sdk/browser";
import { openRun, openSession } from "@keelson/sdk/server";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { until } from "../../server/test/support/until.ts";
import type { LiveStore } from "../src/react/live-store.ts";
import { runStore } from "../src/react/run-store.ts";
import { sessionStore } from "../src/react/session-store.ts";

let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
  client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const accessTo = (run: string) => openRun(client, { url: scene.server.url, run });

const progress = (lease: HeldLease, value: number): object =>
  lease.operation("metadata", { changes: [{ op: "set", key: "progress", value }] });

/** Subscribes as a component does, and gives each value that it would show. */
function show<T>(store: LiveStore<T>) {
  const values: T[] = [];
  const leave = store.subscribe(() => void values.push(store.read()));
  return {
    values,
    leave,
    shows: (what: string, holds: (value: T) => boolean) =>
      until(what, 10_000, async () => holds(store.read())),
  };
}

describe("watchRun", () => {
  test("gives a run as it changes, over disconnects, to its end", async () => {
    const lease = await scene.leased({ payload: "mine" });
    // Breaks in the middle of the second state, and then as a gateway does.
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 0 ? { events: 1 } : index === 1 ? { status: 503 } : "pass",
    );
    const { run, token } = await accessTo(lease.fields.run_id);
    const heard: string[] = [];
    const states = [];
    for await (const state of watchRun({
      ...{ url: proxy.url, run, token },
      onConnect: () => void heard.push("connected"),
      onReconnect: () => void heard.push("lost"),
    })) {
      states.push(state);
      if (states.length === 1) await scene.worker.report(lease.operation("start"), progress(lease, 0.5));
      if (state.metadata["progress"] === 0.5 && state.status === "running")
        await scene.worker.report(lease.operation("release", { outcome: "succeeded", output: { sent: 3 } }));
    }
    const last = states.at(-1);
    assert.deepEqual([last?.status, last?.output, last?.failure], ["succeeded", { sent: 3 }, null]);
    assert.ok(last?.finishedAt !== null && !("payload" in (last ?? {})));
    assert.deepEqual(heard.slice(0, 3), ["connected", "lost", "lost"]);
  });

  test("asks for another token when its own is refused, and says when it may not", async () => {
    const lease = await scene.leased();
    const [mine, other] = [lease.fields.run_id, (await scene.start("plain")).id];
    const asked: boolean[] = [];
    const token = async ({ renew }: { renew: boolean }): Promise<string> => {
      asked.push(renew);
      return renew ? (await accessTo(mine)).token : "kl_pub_expired";
    };
    for await (const { id } of watchRun({ url: scene.server.url, run: mine, token })) {
      assert.equal(id, mine);
      break;
    }
    assert.deepEqual(asked, [false, true]);
    const { token: others } = await accessTo(other);
    const watching = watchRun({ url: scene.server.url, run: mine, token: others });
    await assert.rejects(watching.next(), PermissionError);
    await assert.rejects(accessTo("run_01kahvq3rwfw9vs4m6ev2n8y1c"), NotFoundError);
  });
});

describe("a component", () => {
  test("shows a run, and begins anew when it is shown again", async () => {
    const lease = await scene.leased();
    const store = runStore(await accessTo(lease.fields.run_id));
    assert.deepEqual(store.read(), { run: null, status: "connecting", error: null });
    // As React does with each component in its strict mode.
    show(store).leave();
    const shown = show(store);
    await shown.shows("the run is live", ({ run, status }) => run !== null && status === "live");
    await scene.worker.report(lease.operation("start"), progress(lease, 1));
    await shown.shows("its progress", ({ run }) => run?.metadata["progress"] === 1);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded", output: "done" }));
    await shown.shows("its end", ({ run, status }) => run?.output === "done" && status === "ended");
    // A value that is the same is the same object: React would render without end otherwise.
    assert.equal(store.read(), store.read());
    assert.equal(shown.values.at(-1), store.read());
  });

  test("says why it can show no more, and hears nothing when it has left", async () => {
    const run = await scene.start("plain");
    const { token } = await accessTo(run.id);
    const store = runStore({ url: scene.server.url, run: (await scene.start("plain")).id, token });
    const shown = show(store);
    await shown.shows("the refusal", ({ status }) => status === "failed");
    assert.ok(store.read().error instanceof PermissionError);
    shown.leave();

    const left = show(runStore({ url: scene.server.url, run: run.id, token }));
    await left.shows("the run", (value) => value.run !== null);
    left.leave();
    const count = left.values.length;
    await scene.cancel(run.id);
    await client.runs.wait(run.id);
    assert.equal(left.values.length, count);
  });

  test("shows messages as they grow, the newest of them", async () => {
    const { url, session, token } = await openSession(client, {
      ...{ url: scene.server.url, actor: "chat", externalId: "ada" },
    });
    const again = await openSession(client, { url, actor: "chat", externalId: "ada" });
    assert.deepEqual(again.session, session);
    const page = createSessionClient({ url, session, token });
    const shown = show(sessionStore(page, { stream: "output", cursor: null, keep: 2 }));
    const lease = await scene.worker.takeOne();
    const message = { id: "msg_01kahvq3rwfw9vs4m6ev2n8y1c", begins: true };
    const write = (records: object[], extra: object = {}): object =>
      lease.operation("outputs", { position: null, stream: "output", records, ...extra });
    await scene.worker.report(
      ...[lease.operation("start"), write([{ data: "one" }]), write([{ data: { two: 2 } }])],
      write([{ data: "Good " }, { data: "day" }], { message }),
    );
    await shown.shows("the words", ({ messages }) => messages.at(-1)?.text === "Good day");
    const { messages } = shown.values.at(-1) ?? { messages: [] };
    assert.deepEqual(
      messages.map(({ pieces, status }) => [pieces, status]),
      [
        [[{ two: 2 }], "complete"],
        [["Good ", "day"], "open"],
      ],
    );
    await page.send("input", "Hello");
    await client.sessions.cancel(session.id);
    await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
    await shown.shows("the end", ({ status }) => status === "ended");
    assert.equal(shown.values.at(-1)?.messages.at(-1)?.status, "interrupted");
    // What was shown stays as it was.
    assert.deepEqual(messages.at(-1)?.pieces, ["Good ", "day"]);
  });
});
