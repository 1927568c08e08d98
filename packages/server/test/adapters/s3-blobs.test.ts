import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { openS3Blobs } from "../../src/adapters/s3-blobs.ts";
import type { BlobStore } from "../../src/core/blobs/blob.ts";
import { loadConfig } from "../../src/config.ts";
import { DomainError } from "../../src/domain-error.ts";
import { digestOf, startApiServer } from "../support/api-server.ts";
import { chunks, contentOf, text } from "../support/blob-content.ts";
import { startS3Server, type S3Server } from "../support/s3-server.ts";
import { workspaceCalls } from "../support/workspaces.ts";

suite("a bucket", () => {
  let store: S3Server;
  let blobs: BlobStore;
  before(async () => {
    store = await startS3Server();
    blobs = (await openS3Blobs(store.options))("folder");
  });
  after(() => store[Symbol.asyncDispose]());

  test("that fails or asks for less is asked again", async () => {
    const digest = digestOf(text("kept"));
    store.failNext({ status: 500, code: "InternalError" }, { status: 503, code: "SlowDown" });
    assert.equal(await blobs.put(digest, chunks("kept"), 100), 4);
    store.failNext({ status: 503, code: "SlowDown" });
    assert.equal(await contentOf(blobs, digest), "kept");
  });

  test("that stays unavailable is told as such, and what is forbidden is not", async () => {
    const digest = digestOf(text("kept"));
    store.failNext(...Array.from({ length: 5 }, () => ({ status: 503, code: "ServiceUnavailable" })));
    await assert.rejects(
      blobs.load(digest),
      (error) => error instanceof DomainError && error.code === "unavailable",
    );
    store.failNext({ status: 403, code: "AccessDenied" });
    await assert.rejects(blobs.load(digest), (error) => !(error instanceof DomainError));
    store.failNext({ status: 404, code: "NoSuchBucket" });
    await assert.rejects(blobs.load(digest), /NoSuchBucket/);
  });

  test("whose answer is damaged on its way is read once more, and never believed", async () => {
    const digest = digestOf(text("precious"));
    await blobs.put(digest, chunks("precious"), 100);
    store.flipNext(1);
    assert.equal(await contentOf(blobs, digest), "precious");
    store.flipNext(2);
    await assert.rejects(blobs.read(digest), /damaged/);
  });

  test("that cannot be used ends the start with what to check", async () => {
    const absent = openS3Blobs({ ...store.options, bucket: "absent" });
    await assert.rejects(
      absent,
      /The bucket absent at http:.* cannot be reached: there is no such bucket. Check S3_BUCKET/,
    );
    const stranger = { accessKeyId: "other", secretAccessKey: "x" };
    await assert.rejects(openS3Blobs({ ...store.options, credentials: stranger }), /may not use it \(403\)/);
    await assert.rejects(
      openS3Blobs({ ...store.options, endpoint: "http://127.0.0.1:9" }),
      /cannot be reached: .*ECONNREFUSED/,
    );
  });

  test("holds what a server stores: files of workspaces and bundles", async () => {
    const server = await startApiServer({ config: { s3: store.options } });
    try {
      const calls = workspaceCalls(server);
      const { id, environment_id: environment } = await calls.create();
      await calls.write(id, "a.txt", "in the bucket");
      assert.equal(await calls.read(id, "a.txt"), "in the bucket");
      const bundle = text("export {}");
      const put = await server.call("PUT", `/v1/deployment-bundles/${digestOf(bundle)}`, { bytes: bundle });
      assert.ok(put.status < 300, put.text);
      const keys = [...store.objects.keys()];
      assert.ok(
        keys.some((key) => key.startsWith(`test/workspaces/`)),
        `${environment}: ${keys.join(" ")}`,
      );
      assert.ok(keys.includes(`test/blobs/${digestOf(bundle).slice(0, 2)}/${digestOf(bundle).slice(2)}`));
      store.failNext(...Array.from({ length: 5 }, () => ({ status: 503, code: "SlowDown" })));
      const refused = await server.call("PUT", `/api/workspaces/${id}/files/content?path=b`, {
        bytes: text("other"),
      });
      assert.deepEqual([refused.status, refused.body.error.code], [503, "unavailable"]);
      assert.ok(refused.headers.has("retry-after"));
    } finally {
      await server.stop();
    }
  });
});

test("the bucket is configured by the names that other programs know", () => {
  const env = {
    S3_BUCKET: "b",
    S3_ENDPOINT: "http://minio:9000",
    S3_PREFIX: "/keelson/",
    AWS_REGION: "eu-west-1",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "key",
  };
  assert.deepEqual(loadConfig(env).s3, {
    bucket: "b",
    endpoint: "http://minio:9000",
    region: "eu-west-1",
    prefix: "keelson/",
    credentials: { accessKeyId: "id", secretAccessKey: "key" },
  });
  assert.equal(loadConfig({}).s3, null);
  assert.deepEqual(loadConfig({ S3_BUCKET: "b", S3_REGION: "us-west-2" }).s3, {
    bucket: "b",
    endpoint: null,
    region: "us-west-2",
    prefix: "",
    credentials: null,
  });
  assert.throws(() => loadConfig({ S3_ENDPOINT: "http://minio:9000" }), /without S3_BUCKET/);
  assert.throws(() => loadConfig({ S3_BUCKET: "b", AWS_ACCESS_KEY_ID: "id" }), /Set both AWS_ACCESS_KEY_ID/);
});
