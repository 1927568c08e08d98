import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { Client } from "@keelson/sdk";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { WITHOUT_CHROMIUM } from "./support/chromium.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { openPage } from "./support/open-page.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 60_000 };

let scene: RunScene;
let client: Client;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
  client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

test("a page of another origin completes a token", options, async () => {
  const { id, publicAccessToken } = await client.tokens.create();
  const url = scene.server.url;
  const seen = await openPage(
    `const { status } = await keelson.completeToken({ ...options, data: { approved: true } });
     const refusal = await keelson.completeToken({ ...options, data: 2 }).catch((error) => error);
     return [status, refusal instanceof keelson.ConflictError, refusal.code];`,
    { url, id, publicAccessToken },
  );
  assert.deepEqual(seen, ["completed", true, "token_completion_conflict"]);
  assert.partialDeepStrictEqual(await client.tokens.get(id), { data: { approved: true } });
});

test("a page of another origin talks to a session over disconnects", options, async () => {
  const { id } = await client.sessions.create({ actor: "chat" });
  const make = async (type: "session.input.send" | "session.output.read"): Promise<string> =>
    (await client.publicAccessTokens.create({ type, session: id })).publicAccessToken;
  const token = { send: await make("session.input.send"), read: await make("session.output.read") };
  await client.sessions.appendBatch(id, [{ data: 1 }, { data: 2 }, { data: 3 }]);
  let connections = 0;
  await using proxy = await startFaultProxy(scene.server.url, ({ method }) => {
    if (method !== "GET") return "pass";
    connections += 1;
    return connections === 1 ? { events: 2 } : "pass";
  });
  const seen = await openPage(
    `const session = keelson.createSessionClient(options);
     const { sequence } = await session.send("input", "Hello");
     const data = [];
     for await (const record of session.output("output")) {
       data.push(record.data);
       if (data.length === 3) break;
     }
     return [sequence, data];`,
    { url: proxy.url, token, session: { id } },
  );
  assert.deepEqual(seen, [1, [1, 2, 3]]);
  assert.equal(connections, 2);
});
