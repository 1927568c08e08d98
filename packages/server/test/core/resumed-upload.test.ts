import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { BUNDLE_GRACE_MS, collectBundles } from "../../src/core/bundles/collect-bundles.ts";
import { sql } from "../../src/db/sql.ts";
import { digestOf } from "../support/api-server.ts";
import { createBody } from "../support/deploy.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const HOUR_MS = 3_600_000;
const TASKS = { tasks: [{ id: "work" }] };
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

let scene: RunScene;
before(async () => {
  scene = await startRunScene(TASKS);
});
after(() => scene.stop());

test("asking what an archive lacks keeps what was sent, so that an upload may take days", async () => {
  const { db, dataDir } = scene.server;
  const blobs = createDiskBlobs(path.join(dataDir, "blobs"));
  const collect = (ms: number) =>
    collectBundles({ db, blobs, clock: () => scene.clock.now() + ms, noteLoopFailure: () => undefined });
  const upload = async (bytes: Uint8Array): Promise<void> => {
    const answer = await scene.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
    assert.equal(answer.status, 200, answer.text);
  };
  const files = { "bundle.mjs": text("export const part = 1;"), "later.mjs": text("export const part = 2;") };
  const [sent, later] = [files["bundle.mjs"], files["later.mjs"]];
  const listed = Object.entries(files).map(([name, bytes]) => {
    return { path: name, digest: digestOf(bytes), size_bytes: bytes.length, executable: false };
  });
  const archive = { format_version: 2, entry: "bundle.mjs", node_version: "24.21.0", platform: null };
  const index = text(JSON.stringify({ ...archive, files: listed }));
  const body = createBody(TASKS, { bundle_digest: digestOf(index), bundle_format_version: 2 });
  const create = () => scene.call("POST", "/v1/deployments", { body });
  const touched = () =>
    db.query(sql`
      SELECT encode(digest, 'hex') AS digest, touched_at::text FROM bundle_candidates
      WHERE encode(digest, 'hex') = ANY(${[digestOf(index), digestOf(sent)]}) ORDER BY digest`);

  for (const bytes of [index, sent]) await upload(bytes);
  const uploaded = await touched();
  assert.equal(uploaded.length, 2);
  scene.clock.advance(HOUR_MS / 2);
  assert.equal((await create()).status, 409);
  assert.deepEqual(await touched(), uploaded, "within an hour nothing is written");
  for (let day = 0; day < 3; day += 1) {
    scene.clock.advance(20 * HOUR_MS);
    const asked = await create();
    assert.deepEqual([asked.status, asked.body.error.details.missing], [409, [digestOf(later)]]);
    await collect(BUNDLE_GRACE_MS - HOUR_MS);
    assert.deepEqual([await blobs.has(digestOf(index)), await blobs.has(digestOf(sent))], [true, true]);
  }
  await upload(later);
  assert.equal((await create()).status, 201);
});
