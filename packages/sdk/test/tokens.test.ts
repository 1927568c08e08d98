import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, ConflictError, NotFoundError, UsageError } from "@keelson/sdk";
import { AuthenticationError, completeToken } from "@keelson/sdk/browser";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const connect = (url = server.url): Client => new Client({ url, apiKey: server.credentials.api_key });

const isConflict =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ConflictError && error.code === code;

test("a token is made, listed, completed once, and keeps what it was completed with", async () => {
  const { tokens } = connect();
  const created = await tokens.create({ timeout: "2h", metadata: { order: 7 }, tags: ["approval", "x"] });
  assert.match(created.callbackUrl, /\/callback\//);
  assert.match(created.publicAccessToken, /^kl_tkn_/);
  await tokens.create({ tags: ["other"] });
  const listed = await tokens.list({ status: ["pending", "completed"], tag: ["approval", "x"] }).page();
  assert.deepEqual(
    listed.items.map(({ id }) => id),
    [created.id],
  );
  assert.partialDeepStrictEqual(await tokens.complete(created.id, { approved: true, by: ["a", 1] }), {
    status: "completed",
    token: { data: { approved: true, by: ["a", 1] }, completedBy: { kind: "api_key" } },
  });
  const again = await tokens.complete(created.id, { by: ["a", 1], approved: true });
  assert.equal(again.status, "already_completed");
  await assert.rejects(
    tokens.complete(created.id, { approved: false }),
    isConflict("token_completion_conflict"),
  );
  assert.partialDeepStrictEqual(await tokens.get(created.id), {
    status: "completed",
    data: { approved: true },
    metadata: { order: 7 },
  });
});

test("a token completed without data has null, and a cancelled one is not completed", async () => {
  const { tokens } = connect();
  const [empty, cancelled] = [await tokens.create(), await tokens.create()];
  assert.equal((await tokens.complete(empty.id)).token.data, null);
  assert.equal((await tokens.cancel(cancelled.id)).status, "cancelled");
  assert.equal((await tokens.cancel(cancelled.id)).status, "cancelled");
  await assert.rejects(tokens.complete(cancelled.id, 1), isConflict("token_cancelled"));
  await assert.rejects(tokens.cancel(empty.id), isConflict("invalid_state"));
  await assert.rejects(tokens.get("tok_nothing"), NotFoundError);
});

test("a creation with a key whose answer is lost is repeated, secrets and all; a completion always is", async () => {
  await using proxy = await startFaultProxy(server.url, (_seen, index) =>
    index % 2 === 0 ? "cut after" : "pass",
  );
  const { tokens } = connect(proxy.url);
  const created = await tokens.create({ idempotencyKey: "one", tags: ["lost"] });
  assert.match(created.publicAccessToken, /^kl_tkn_/);
  assert.equal((await connect().tokens.list({ tag: "lost" }).page()).items.length, 1);
  assert.equal((await tokens.complete(created.id, 1)).status, "already_completed");
  assert.equal(proxy.seen.length, 4);
});

test("a page completes a token with the token's own credential, and no other", async () => {
  const { tokens } = connect();
  const [token, other] = [await tokens.create(), await tokens.create()];
  const { id, publicAccessToken } = token;
  const url = `${server.url}/`;
  await assert.rejects(
    completeToken({ url, id, publicAccessToken: server.credentials.api_key, data: 1 }),
    AuthenticationError,
  );
  await assert.rejects(completeToken({ url, id: other.id, publicAccessToken, data: 1 }), { status: 404 });
  const completion = await completeToken({ url, id, publicAccessToken, data: { ok: true } });
  assert.partialDeepStrictEqual(completion, {
    status: "completed",
    token: { data: { ok: true }, completedBy: { kind: "public" } },
  });
  await assert.rejects(completeToken({ url, id, publicAccessToken, data: 2 }), {
    code: "token_completion_conflict",
  });
  await assert.rejects(async () => completeToken({ url: "javascript:1", id, publicAccessToken }), UsageError);
});
