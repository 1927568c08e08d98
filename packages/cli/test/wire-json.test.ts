import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { absentRunId, startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { environmentOf, keelson } from "./support.ts";

const POISON = { created_at: { deployment_id: 1 } };

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "report" }], actors: [{ id: "chat" }] });
  env = environmentOf(scene.server);
});
after(() => scene.stop());

async function json(...args: string[]): Promise<unknown> {
  const { stdout, stderr, code } = await keelson([...args, "--json"], { env });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const wire = async (path: string): Promise<unknown> => (await scene.call("GET", path)).body;

suite("--json is the API's own JSON", () => {
  test("of a run, of its events, and of lists", async () => {
    const { id } = await scene.start("report", { payload: POISON, metadata: POISON });
    assert.deepEqual(await json("run", "get", id), await wire(`/v1/runs/${id}`));
    assert.deepEqual(await json("run", "list"), await wire("/v1/runs"));
    const { events } = (await wire(`/v1/runs/${id}/events`)) as { events: unknown[] };
    const lines = (await keelson(["run", "events", id, "--json"], { env })).stdout.trim().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      events,
    );
    assert.deepEqual(await json("deployment", "get", "current"), await wire("/v1/deployments/current"));
    assert.deepEqual(await json("deployment", "list"), await wire("/v1/deployments"));
    assert.deepEqual(await json("task", "list"), await wire("/v1/tasks"));
  });

  test("of a session and its records", async () => {
    const { body } = await scene.call("POST", "/api/sessions", { body: { actor: "chat", metadata: POISON } });
    assert.deepEqual(await json("session", "get", body.id), await wire(`/api/sessions/${body.id}`));
    await json("session", "send", body.id, "--data", JSON.stringify(POISON));
    const { records } = (await wire(`/api/sessions/${body.id}/inputs/input`)) as { records: unknown[] };
    assert.deepEqual(await json("session", "read", body.id, "--input"), records[0]);
  });

  test("of the key, of the person and of what went wrong", async () => {
    const token = { KEELSON_USER_TOKEN: scene.server.credentials.user_token };
    // The key is what the commands of an environment use, whoever else is named.
    const ofKey = JSON.parse((await keelson(["whoami", "--json"], { env: { ...env, ...token } })).stdout) as {
      api_key: object;
    };
    const key = (await scene.call("GET", "/api/me")).body.api_key as object;
    assert.deepEqual({ ...ofKey.api_key, last_used_at: null }, { ...key, last_used_at: null });
    const { KEELSON_API_KEY: _key, ...withoutKey } = env;
    const { stdout } = await keelson(["whoami", "--json"], { env: { ...withoutKey, ...token } });
    const { url, source, project, environment, ...me } = JSON.parse(stdout) as Record<string, unknown>;
    const answer = await scene.call("GET", "/api/me", { as: scene.server.credentials.user_token });
    assert.deepEqual(me, answer.body);
    assert.ok(url && source && project !== undefined && environment !== undefined);

    const { id } = await scene.start("report");
    const failed = await keelson(["run", "get", absentRunId(id), "--json"], { env });
    const { error } = (await wire(`/v1/runs/${absentRunId(id)}`)) as { error: Record<string, unknown> };
    const said = (JSON.parse(failed.stderr) as { error: Record<string, unknown> }).error;
    assert.deepEqual({ ...said, request_id: null }, { ...error, request_id: null });
  });
});
