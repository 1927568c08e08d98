import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createBody, leaseCheck, startWorker } from "../../support/deploy.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const FILES = { "bundle.mjs": text("export const keelson = {};"), "prompts/a.md": text("Hello.") };

type Fields = Record<string, unknown>;

const fileOf = (path: string, bytes: Uint8Array): Fields => ({
  path,
  digest: digestOf(bytes),
  size_bytes: bytes.length,
  executable: false,
});

const indexOf = (extra: Fields = {}, files: Record<string, Uint8Array> = FILES): Uint8Array =>
  text(
    JSON.stringify({
      format_version: 2,
      entry: "bundle.mjs",
      node_version: "24.21.0",
      platform: { os: "linux", arch: "x64", libc: "glibc" },
      files: Object.entries(files).map(([path, bytes]) => fileOf(path, bytes)),
      ...extra,
    }),
  );

describe("deployments of archives", () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  const upload = async (bytes: Uint8Array): Promise<void> => {
    const { status } = await server.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
    assert.equal(status, 200);
  };
  const create = (index: Uint8Array, extra: Fields = {}) =>
    server.call("POST", "/v1/deployments", {
      body: createBody({ tasks: [] }, { bundle_digest: digestOf(index), bundle_format_version: 2, ...extra }),
    });

  test("creating says which files are not uploaded, and only these are to be sent", async () => {
    const index = indexOf();
    const without = await create(index);
    assert.deepEqual([without.status, without.body.error.code], [409, "bundle_missing"]);
    assert.deepEqual(without.body.error.details.missing, [digestOf(index)]);
    await upload(index);
    await upload(FILES["bundle.mjs"]);
    const lacking = await create(index);
    assert.deepEqual([lacking.status, lacking.body.error.code], [409, "bundle_missing"]);
    assert.deepEqual(lacking.body.error.details.missing, [digestOf(FILES["prompts/a.md"])]);
    await upload(FILES["prompts/a.md"]);
    const created = await create(index);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const { bundle, node_version, platform, bundle_format_version } = created.body;
    const size = index.length + FILES["bundle.mjs"].length + FILES["prompts/a.md"].length;
    assert.deepEqual(bundle, { digest: digestOf(index), size_bytes: size });
    assert.deepEqual(
      [node_version, platform, bundle_format_version],
      ["24.21.0", { os: "linux", arch: "x64", libc: "glibc" }, 2],
    );
    // Nothing is sent again for the next one.
    assert.equal((await create(index)).status, 201);
    await server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
  });

  test("a deployment's files cannot go, whoever deletes them", async () => {
    await assert.rejects(
      server.db.query(
        sql`DELETE FROM bundles WHERE digest = ${Buffer.from(digestOf(FILES["prompts/a.md"]), "hex")}`,
      ),
      /foreign key constraint/,
    );
  });

  test("an environment's archive does not take files of another environment", async () => {
    const { body } = await server.call("GET", "/api/me", { as: server.credentials.user_token });
    const projectId = server.credentials.project_id;
    const made = await server.call("POST", `/api/projects/${projectId}/environments`, {
      as: server.credentials.user_token,
      body: { name: "Archives", slug: "archives" },
    });
    assert.equal(made.status, 201, JSON.stringify([made.body, body]));
    const place = { project_id: projectId, environment_id: made.body.id };
    const index = indexOf();
    const query = new URLSearchParams(place).toString();
    const uploaded = await server.call("PUT", `/api/deployment-bundles/${digestOf(index)}?${query}`, {
      as: server.credentials.user_token,
      bytes: index,
    });
    assert.equal(uploaded.status, 200, JSON.stringify(uploaded.body));
    const answer = await server.call("POST", "/api/deployments", {
      as: server.credentials.user_token,
      body: createBody({ tasks: [] }, { ...place, bundle_digest: digestOf(index), bundle_format_version: 2 }),
    });
    assert.deepEqual([answer.status, answer.body.error.code], [409, "bundle_missing"]);
    assert.equal(answer.body.error.details.missing.length, 2);
  });

  for (const [what, index] of [
    ["that is no JSON", text("export const keelson = {};")],
    ["of another format", indexOf({ format_version: 3 })],
    ["with an unknown field", indexOf({ links: [] })],
    ["whose entry is not there", indexOf({ entry: "other.mjs" })],
    ["without files", indexOf({ files: [] })],
    ["with a platform that is none", indexOf({ platform: { os: "linux; rm", arch: "x64", libc: null } })],
    ["with a path twice", indexOf({ files: [...pair("bundle.mjs"), ...pair("bundle.mjs")] })],
    ["with a file that is a folder", indexOf({ files: [...pair("bundle.mjs"), ...pair("bundle.mjs/a")] })],
    ["with too many files", indexOf({ files: Array.from({ length: 5001 }, (_, i) => pair(`f${i}`)[0]) })],
    [
      "with a file that is too large",
      indexOf({ files: [{ ...pair("bundle.mjs")[0], size_bytes: 2 ** 27 }] }),
    ],
    [
      "with too many bytes",
      indexOf({ files: Array.from({ length: 9 }, (_, i) => ({ ...pair(`f${i}`)[0], size_bytes: 2 ** 26 })) }),
    ],
    ...[
      "../a",
      "/a",
      "a/../../b",
      "a//b",
      "./a",
      "a\\b",
      "a\0b",
      "C:/a",
      "a\nb",
      "\ud800",
      "x".repeat(1025),
    ].map(
      (path) =>
        [`with the path ${JSON.stringify(path.slice(0, 12))}`, indexOf({ files: pair(path) })] as const,
    ),
  ] as const)
    test(`an index ${what} is refused`, async () => {
      await upload(index);
      const answer = await create(index);
      assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
      assert.equal(answer.body.error.details.issues[0].path, "bundle_digest");
    });

  test("a worker gets the index and the files by their digests, and is told the format", async () => {
    const worker = await startWorker(server);
    const index = indexOf();
    const { body: deployment } = await create(index);
    const check = await leaseCheck(server, worker);
    assert.deepEqual(
      [check.deployment_id, check.bundle_digest, check.bundle_format_version],
      [deployment.id, digestOf(index), 2],
    );
    for (const bytes of [index, ...Object.values(FILES)]) {
      const got = await server.call("GET", `/worker/v1/bundles/${digestOf(bytes)}`, { as: worker });
      assert.equal(got.status, 200);
    }
  });
});

function pair(path: string): [Fields] {
  return [fileOf(path, FILES["bundle.mjs"])];
}
