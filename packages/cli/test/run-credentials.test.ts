// Code of runs calls the server by its own credential: a real server, a real agent, and no key that is handed to tasks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PERMISSIONS, type Uuid } from "@keelson/contract";
import { Client, type Run } from "@keelson/sdk";
import { deployBundle } from "../src/deploy-bundle.ts";
import { addApiKey } from "../../server/test/support/tenancy.ts";
import { sql } from "../../server/src/db/sql.ts";
import { bundleSource } from "../../agent/test/support/sdk-bundle.ts";
import { startDurableSite, type DurableSite } from "./durable/site.ts";

const SOURCE = `
import { actor, Client, step, task } from "@keelson/sdk";

const ofModule = new Client();
let kept;
const whoIs = async (client) => {
  const { run } = await client.request({ method: "GET", path: "/api/me" });
  return [run.id, run.environment_id];
};

const everyClient = async (_payload, ctx) => {
  kept ??= new Client();
  const seen = [];
  for (const client of [ofModule, kept, new Client(), ctx.client]) seen.push(await whoIs(client));
  return { seen, key: process.env.KEELSON_API_KEY ?? null, url: process.env.KEELSON_URL ?? null };
};
export const shared = task({ id: "shared", execution: "shared", run: everyClient });
export const exclusive = task({ id: "exclusive", run: everyClient });

const attempt = (call) => call().then(() => "done", (error) => [error.code, error.details?.permission ?? null]);
export const narrow = task({
  id: "narrow",
  permissions: ["runs.read"],
  run: async (_payload, ctx) => [
    await attempt(() => ctx.client.request({ method: "GET", path: "/v1/runs" })),
    await attempt(() => ctx.client.tasks.start("leaf")),
    await attempt(() => new Client().request({ method: "GET", path: "/v1/secrets" })),
  ],
});
export const leaf = task({ id: "leaf", run: () => null });
export const chat = actor({ id: "chat", run: async () => null });

export const sends = task({
  id: "sends",
  run: (_payload, ctx) => step("send", async () => {
    const { session } = await ctx.client.actors.start("chat", { input: 1 });
    return (await ctx.client.sessions.send(session.id, "hello")).source;
  }),
});

export const says = task({
  id: "says",
  execution: "shared",
  run: async (_payload, ctx) => {
    let token = "";
    const client = new Client({ fetch: (url, init) => { token = init.headers.authorization.slice(7); return fetch(url, init); } });
    await client.request({ method: "GET", path: "/api/me" });
    console.log("token " + token);
    ctx.logger.info("the token " + token, { token });
    setTimeout(() => console.log("later " + token), 50);
    throw new Error("refused " + token);
  },
});

export const outlives = task({
  id: "outlives",
  execution: "shared",
  run: async (_payload, ctx) => {
    const { runId } = globalThis.kept ?? {};
    if (runId !== undefined) return globalThis.kept.late;
    globalThis.kept = { runId: ctx.run.id };
    globalThis.kept.late = new Promise((resolve) => setTimeout(() => resolve(attempt(() => whoIs(ctx.client))), 30));
    return null;
  },
});
`;

async function productionClient(site: DurableSite): Promise<Client> {
  const [row] = await site.server.db.query<{ id: Uuid<"env"> }>(
    sql`SELECT id FROM environments WHERE slug = 'production'`,
  );
  const apiKey = await addApiKey(site.server, PERMISSIONS, { environmentId: row?.id as Uuid<"env"> });
  return new Client({ url: site.server.url, apiKey });
}

const run = async (client: Client, task: string): Promise<Run> =>
  client.runs.wait(await client.tasks.start(task, undefined, { retry: { maxAttempts: 1 } }), {
    timeout: "1m",
  });

async function outputOf<T>(client: Client, task: string): Promise<T> {
  const ended = await run(client, task);
  assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
  return ended.output as T;
}

test("runs act as themselves, in their own environment, with their own permissions", async (t) => {
  const site = await startDurableSite(t, SOURCE, { parkAfterMs: 30_000 });
  const development = site.client;
  const production = await productionClient(site);
  await deployBundle(production, await bundleSource(SOURCE), {
    ...{ directory: "/", promote: true, timeoutMs: 20_000, signal: t.signal, progress: () => undefined },
  });

  await t.test(
    "every kind of client, in processes that are shared and not, in two environments",
    async () => {
      type Output = { seen: [string, string][]; key: null; url: null };
      const calls = ["shared", "exclusive", "shared", "shared"].flatMap((task) =>
        [development, production].map(async (client) => {
          const ended = await run(client, task);
          assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
          const { seen, key, url } = ended.output as Output;
          assert.deepEqual(
            seen,
            Array.from({ length: 4 }, () => [ended.id, ended.environmentId]),
          );
          assert.deepEqual([key, url], [null, null]);
          return ended.environmentId;
        }),
      );
      assert.equal(new Set(await Promise.all(calls)).size, 2);
    },
  );

  await t.test("what it lacks is refused with the permission's name", async () => {
    assert.deepEqual(await outputOf(development, "narrow"), [
      "done",
      ["forbidden", "tasks.start"],
      ["forbidden", "secrets.read"],
    ]);
  });

  await t.test("what it appends says which run it was", async () => {
    const ended = await run(production, "sends");
    assert.deepEqual(ended.output, { kind: "run", id: ended.id });
  });

  await t.test("its credential is in nothing that it says", async () => {
    const ended = await run(development, "says");
    assert.equal(ended.failure?.message, "refused [redacted]");
    const { stdout } = await development.request<{ stdout: string }>({
      method: "GET",
      path: `/api/runs/${ended.id}/logs`,
    });
    assert.match(Buffer.from(stdout, "base64").toString(), /^token \[redacted\]\n.*the token \[redacted\]/);
    const events = JSON.stringify(await site.eventsOf(ended));
    assert.ok(!events.includes("kl_run_"), events);
  });

  await t.test("after its end, its client is refused with the reason", async () => {
    assert.equal(await outputOf(development, "outlives"), null);
    assert.deepEqual(await outputOf(development, "outlives"), ["unauthenticated", null]);
  });
});
