import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import { startWorker } from "../../support/deploy.ts";
import { addForeignPlace } from "../../support/tenancy.ts";

describe("blobs", () => {
  let server: ApiServer;
  let worker: string;
  before(async () => {
    server = await startApiServer();
    worker = await startWorker(server);
  });
  after(() => server.stop());

  const call = (method: string, digest: string, bytes?: Uint8Array, environment?: string) =>
    server.call(
      method,
      `/worker/v1/blobs/${digest}?environment_id=${environment ?? server.credentials.environment_id}`,
      { as: worker, ...(bytes === undefined ? {} : { bytes }) },
    );

  test("bytes are stored under their digest, looked for and read", async () => {
    const bytes = Buffer.alloc(300_000, "blob");
    const digest = digestOf(bytes);
    assert.equal((await call("GET", digest)).status, 404);
    assert.equal((await call("HEAD", digest)).status, 404);
    for (let i = 0; i < 2; i += 1) {
      const put = await call("PUT", digest, bytes);
      assert.deepEqual([put.status, put.body], [200, { digest, size_bytes: 300_000 }]);
    }
    const head = await call("HEAD", digest);
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, "300000"]);
    assert.ok(bytes.equals((await call("GET", digest)).body));
  });

  test("bytes with another digest, and too many, are refused and not kept", async () => {
    const digest = digestOf(Buffer.from("a"));
    const other = await call("PUT", digest, Buffer.from("b"));
    assert.deepEqual([other.status, other.body.error.code], [400, "invalid_request"]);
    assert.equal((await call("GET", digest)).status, 404);
    assert.equal((await call("PUT", "x", Buffer.from("b"))).status, 400);
    const large = Buffer.alloc(32 * 1024 * 1024 + 1);
    assert.equal((await call("PUT", digestOf(large), large)).status, 413);
  });

  test("a connection whose upload was refused half-way is good for the next request", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (method: string, body?: Buffer): Promise<number> =>
      new Promise((resolve, reject) => {
        const path = `/worker/v1/blobs/${"0".repeat(64)}?environment_id=${server.credentials.environment_id}`;
        const headers = { authorization: `Bearer ${worker}`, "content-type": "application/octet-stream" };
        // Without a length, so that only reading it shows that it is too large.
        const sent = request(server.url + path, { agent, method, headers }, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(answer.statusCode ?? 0));
        });
        sent.on("error", reject);
        if (body !== undefined) sent.write(body);
        sent.end();
      });
    const large = Buffer.alloc(36 * 1024 * 1024);
    assert.deepEqual([await send("PUT", large), await send("GET")], [413, 404]);
    agent.destroy();
  });

  test("an environment has its own, and only workers that serve it see them", async () => {
    const bytes = Buffer.from("mine");
    await call("PUT", digestOf(bytes), bytes);
    const { environmentId } = await addForeignPlace(server);
    const foreign = encodeId("env", environmentId);
    const absent = encodeId("env", "00000000-0000-7000-8000-000000000000");
    for (const environment of [foreign, absent, "env_x"]) {
      const [get, put] = [
        await call("GET", digestOf(bytes), undefined, environment),
        await call("PUT", digestOf(bytes), bytes, environment),
      ];
      assert.deepEqual([get.status, put.status], [404, 404]);
    }
  });
});
