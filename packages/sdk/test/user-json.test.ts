import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "@keelson/sdk";
import { createSessionClient } from "@keelson/sdk/browser";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { POISON } from "./support/wire-samples.ts";

/** JSON of users that looks like the wire's passes the whole way as it is. */
let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "a" }], actors: [{ id: "chat" }] });
  client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
});
after(() => scene.stop());

async function first<T>(source: AsyncIterable<T>): Promise<T | undefined> {
  for await (const one of source) return one;
  return undefined;
}

test("payload, metadata and output of a run, alone, in a batch, in a list and in a stream", async () => {
  const options = { metadata: POISON, tags: ["created_at"] };
  const run = await client.tasks.start("a", POISON, options);
  const [{ run: other }] = await client.tasks.startBatch([{ task: "a", payload: POISON, ...options }]);
  for (const one of [run, other, await client.runs.get(run.id), await first(client.runs.list())])
    assert.deepEqual([one?.payload, one?.metadata, one?.tags], [POISON, POISON, ["created_at"]]);
  for (let ended = 0; ended < 2; ended += 1) {
    const lease = await scene.worker.takeOne();
    await scene.worker.report(
      lease.operation("start"),
      lease.operation("release", { outcome: "succeeded", output: POISON }),
    );
  }
  const ended = await client.runs.wait(run.id);
  assert.deepEqual([ended.output, ended.maxAttempts, ended.failure], [POISON, 3, null]);
});

test("data and metadata of a token", async () => {
  const token = await client.tokens.create({ metadata: POISON });
  assert.deepEqual(token.metadata, POISON);
  const completion = await client.tokens.complete(token.id, POISON);
  assert.deepEqual([completion.token.data, completion.token.metadata], [POISON, POISON]);
  assert.deepEqual((await client.tokens.get(token.id)).data, POISON);
});

test("metadata and records of a session, read by page, by stream and by a web page", async () => {
  const session = await client.sessions.create({ actor: "chat", metadata: POISON, input: POISON });
  assert.deepEqual(session.metadata, POISON);
  const sent = await client.sessions.send(session.id, POISON);
  const [batched] = await client.sessions.appendBatch(session.id, [{ data: POISON }]);
  const { records } = await client.sessions.read(session.id, { direction: "input" });
  const followed = await first(client.sessions.records(session.id, { follow: true }));
  const { publicAccessToken } = await client.publicAccessTokens.create({
    type: "session.output.read",
    session: session.id,
  });
  const page = createSessionClient({ url: scene.server.url, token: publicAccessToken, session });
  const shown = await first(page.output("output"));
  assert.equal(records.length, 2);
  for (const record of [sent, batched, ...records, followed, shown])
    assert.deepEqual([record?.data, record?.sessionId], [POISON, session.id]);
});

test("payload schemas of a deployment, and tags of a schedule", async () => {
  const made = await client.deployments.current();
  const manifest = { tasks: [{ id: "a", maxDuration: "5m", payloadSchema: POISON }] };
  const deployment = await client.deployments.create({
    manifest,
    bundleDigest: made.bundle.digest,
    bundleFormatVersion: 1,
  });
  assert.partialDeepStrictEqual(deployment.tasks[0], { maxDuration: "5m", payloadSchema: POISON });
  const schedule = await client.schedules.put({
    ...{ deduplicationKey: "k", task: "a", cron: "0 0 1 1 *" },
    options: { maxDuration: "1m", tags: ["created_at"] },
  });
  assert.deepEqual([schedule.options.maxDuration, schedule.options.tags], ["1m", ["created_at"]]);
});

test("names of variables and metadata of a workspace", async () => {
  const workspace = await client.workspaces.create({ metadata: POISON });
  assert.deepEqual((await client.workspaces.get(workspace.id)).metadata, POISON);
  const exec = await client.workspaces.exec(workspace.id, ["true"], { env: { created_at: "x" } });
  assert.deepEqual((await exec.get()).envNames, ["created_at"]);
});
