// Concurrent completions share a transaction, and each has its own answer.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { rawSql } from "../../../src/db/sql.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

const COUNT = 40;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());

async function createTokens(): Promise<string[]> {
  const created = Array.from({ length: COUNT }, () => scene.call("POST", "/v1/tokens", { body: {} }));
  return (await Promise.all(created)).map(({ body }) => body.id as string);
}

const complete = (id: string, data: unknown) =>
  scene.call("POST", `/v1/tokens/${id}/complete`, { body: { data } });

test("completions of many tokens and of one are answered by few statements, each for itself", async () => {
  const ids = await createTokens();
  const one = ids[0] as string;
  const answers: Awaited<ReturnType<typeof complete>>[] = [];
  const queries = await recordQueries(async () => {
    const others = ids.slice(1).map((id, n) => complete(id, n));
    answers.push(
      ...(await Promise.all([complete(one, "a"), complete(one, "b"), complete(one, "a"), ...others])),
    );
  });
  const [first, other, same, ...rest] = answers;
  assert.deepEqual(
    [first, other, same].map((answer) => [answer?.status, answer?.body.status ?? answer?.body.error.code]),
    [
      [200, "completed"],
      [409, "token_completion_conflict"],
      [200, "already_completed"],
    ],
  );
  for (const [n, { status, body }] of rest.entries())
    assert.deepEqual([status, body.status, body.token.data], [200, "completed", n]);
  const updates = queries.filter(({ text }) => text.includes("UPDATE tokens t SET status = 'completed'"));
  assert.ok(updates.length <= COUNT / 4, `${updates.length} statements`);
});

test("one that cannot be completed fails alone", async () => {
  const ids = await createTokens();
  const bad = ids[COUNT / 2] as string;
  await scene.server.db.query(
    rawSql(`
    CREATE FUNCTION refuse_completion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'it cannot be'; END $$`),
  );
  await scene.server.db.query(
    rawSql(`
    CREATE TRIGGER refuse_completion BEFORE UPDATE ON tokens FOR EACH ROW
    WHEN (NEW.id = '${decodeId("tok", bad)}') EXECUTE FUNCTION refuse_completion()`),
  );
  const answers = await Promise.all(ids.map((id) => complete(id, null)));
  for (const [n, { status }] of answers.entries()) assert.equal(status, ids[n] === bad ? 500 : 200, ids[n]);
});
