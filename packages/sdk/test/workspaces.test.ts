import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  BadRequestError,
  Client,
  ConflictError,
  NotFoundError,
  TimeoutError,
  UsageError,
} from "@keelson/sdk";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../server/test/support/workspace-worker.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";

let server: ApiServer;
let worker: WorkspaceWorker;
let client: Client;
before(async () => {
  server = await startApiServer();
  worker = await startWorkspaceWorker(server);
  client = connect();
});
after(() => server.stop());

const connect = (url = server.url): Client => new Client({ url, apiKey: server.credentials.api_key });

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

const isConflict =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof ConflictError && error.code === code;

suite("workspaces", () => {
  test("are made, found, changed and deleted", async () => {
    const made = await client.workspaces.create({
      externalId: "ticket 1/é",
      metadata: { a: 1 },
      tags: ["one", "two"],
    });
    assert.partialDeepStrictEqual(made, {
      externalId: "ticket 1/é",
      sandbox: "default",
      status: "active",
      metadata: { a: 1 },
      materialization: null,
    });
    await client.workspaces.create({ tags: ["two"] });
    const found = await collect(client.workspaces.list({ tag: ["one", "two"], limit: 1 }));
    assert.deepEqual(found, [made]);
    assert.deepEqual(await collect(client.workspaces.list({ externalId: "ticket 1/é" })), [made]);
    await assert.rejects(
      client.workspaces.create({ externalId: "ticket 1/é" }),
      isConflict("already_exists"),
    );
    const handle = client.workspaces.open(made);
    assert.deepEqual((await handle.update({ tags: ["three"] })).tags, ["three"]);
    assert.deepEqual((await handle.get()).metadata, { a: 1 });
    assert.equal((await handle.delete()).status, "deleted");
    assert.equal((await client.workspaces.delete(made.id)).status, "deleted");
    await assert.rejects(client.workspaces.get("ws_none"), NotFoundError);
  });

  test("a creation whose answer is lost is asked for again, and there is one workspace", async () => {
    await using proxy = await startFaultProxy(server.url, (_seen, index) =>
      index === 0 ? "cut after" : "pass",
    );
    const made = await connect(proxy.url).workspaces.create({ tags: ["lost answer"] });
    assert.equal(proxy.seen.length, 2);
    assert.ok(proxy.seen[0]?.body.idempotency_key);
    assert.deepEqual(proxy.seen[0].body, proxy.seen[1]?.body);
    const listed = await collect(client.workspaces.list({ tag: "lost answer" }));
    assert.deepEqual(
      listed.map(({ id }) => id),
      [made.id],
    );
  });

  test("are made from a sandbox by its id or its declared id", async () => {
    const [sandbox] = await collect(client.sandboxes.list());
    assert.equal(sandbox?.declaredId, "default");
    assert.equal((await client.sandboxes.get(sandbox.id)).isolation, "process");
    assert.equal((await client.sandboxes.createWorkspace(sandbox.id, { tags: ["x"] })).sandbox, "default");
    assert.equal((await client.workspaces.create({ sandbox: "default" })).sandbox, "default");
    await assert.rejects(client.workspaces.create({ sandbox: "absent" }), BadRequestError);
  });

  test("files are written, listed, read whole and in part, and deleted", async () => {
    const { files } = client.workspaces.open(await client.workspaces.create());
    const text = "Grüße\n";
    const written = await files.write("docs/a b.txt", text, { mode: "600" });
    assert.partialDeepStrictEqual(written.file, { path: "docs/a b.txt", sizeBytes: 8, mode: "0600" });
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
    await files.write("data.bin", bytes);
    const listed = await collect(files.list());
    assert.deepEqual(
      listed.map(({ path, kind }) => [path, kind]),
      [
        ["data.bin", "file"],
        ["docs", "directory"],
      ],
    );
    assert.deepEqual((await files.list("docs", { limit: 1 }).page()).items, [written.file]);
    assert.equal((await files.stat("docs")).kind, "directory");
    assert.equal(await files.readText("docs/a b.txt"), text);
    assert.deepEqual(await files.read("data.bin"), Buffer.from(bytes));
    assert.deepEqual(
      await files.read("data.bin", { range: { start: 250, end: 253 } }),
      Buffer.from([250, 0, 1]),
    );
    assert.equal((await files.read("data.bin", { range: { start: 99_990 } })).length, 10);
    await assert.rejects(files.read("data.bin", { range: { start: 5, end: 5 } }), UsageError);
    await assert.rejects(files.read("data.bin", { range: { start: 100_000 } }), BadRequestError);
    await assert.rejects(files.read("docs"), BadRequestError);
    await assert.rejects(files.write("half \ud83d", text), UsageError);
    await assert.rejects(files.delete("\udc00"), UsageError);
    await assert.rejects(files.read("absent"), NotFoundError);
    await assert.rejects(files.read("../x"), (error) => (error as BadRequestError).code === "invalid_path");
    assert.equal((await files.delete("docs/a b.txt")).file, null);
    await assert.rejects(files.stat("docs/a b.txt"), NotFoundError);
    assert.equal(await files.readText("docs/a b.txt", { versionId: written.versionId }), text);
  });

  test("a command is a list, and not a text whose characters are its arguments", async () => {
    for (const command of ["ls -la", []] as unknown as string[][])
      await assert.rejects(
        client.workspaces.exec("ws_1", command),
        /^UsageError: exec\(\) takes a list of the program and its arguments, such as \["sh"/,
      );
  });

  test("a file is written only over what was seen", async () => {
    const { files } = client.workspaces.open(await client.workspaces.create());
    const isStale = (error: unknown): boolean => (error as BadRequestError).code === "precondition_failed";
    const { file } = await files.write("a", "1", { ifAbsent: true });
    await assert.rejects(files.write("a", "2", { ifAbsent: true }), isStale);
    const digest = file?.digest ?? "";
    await files.write("a", "2", { ifDigest: digest });
    await assert.rejects(files.write("a", "3", { ifDigest: digest }), isStale);
    await assert.rejects(files.delete("a", { ifDigest: digest }), isStale);
  });

  test("versions are listed, compared, restored and forked", async () => {
    const made = await client.workspaces.create();
    const { files, versions } = client.workspaces.open(made);
    const one = await files.write("a.txt", "1");
    await files.write("b.txt", "1");
    const three = await files.write("a.txt", "2");
    assert.deepEqual(
      (await collect(versions.list({ limit: 2 }))).map(({ number, cause }) => [number, cause.kind]),
      [
        [4, "write"],
        [3, "write"],
        [2, "write"],
        [1, "create"],
      ],
    );
    assert.equal((await versions.get(one.versionId)).fileCount, 1);
    const changes = await collect(versions.diff(three.versionId, { base: one.versionId, limit: 1 }));
    assert.deepEqual(
      changes.map(({ path, change }) => [path, change]),
      [
        ["a.txt", "modified"],
        ["b.txt", "added"],
      ],
    );
    assert.equal((await collect(versions.diff(three.versionId))).length, 1);
    const restored = await versions.restore(one.versionId);
    assert.equal(restored.number, 5);
    assert.equal((await versions.restore(one.versionId)).id, restored.id);
    assert.equal(await files.readText("a.txt"), "1");
    const fork = await client.workspaces.create({ fromVersionId: three.versionId });
    assert.equal(await client.workspaces.files.readText(fork.id, "a.txt"), "2");
  });

  test("connect resolves once the workspace is live and stop once it is not; meanwhile files are busy", async () => {
    const { id } = await client.workspaces.create();
    const handle = client.workspaces.open(id);
    const connecting = handle.connect();
    const leased = await worker.take();
    await worker.live(leased);
    assert.equal((await connecting).materialization?.status, "live");
    assert.equal((await handle.materialize()).materialization?.status, "live");
    await assert.rejects(handle.files.write("a", "1"), isConflict("workspace_busy"));
    await assert.rejects(handle.stop({ timeout: "50ms" }), TimeoutError);
    const stopping = handle.stop();
    await worker.stopped(leased);
    assert.equal((await stopping).materialization?.status, "stopped");
  });

  test("stop resolves with what comes next when the workspace is wanted again, and leaves that running", async () => {
    const { id } = await client.workspaces.create();
    const handle = client.workspaces.open(id);
    await handle.materialize();
    const first = await worker.take();
    await worker.live(first);
    const stopping = handle.stop();
    const held = [{ ...worker.fields(first), stopping: false, processes: [] }];
    assert.equal((await worker.poll({ wait: "10s", held })).stops.length, 1);
    const exec = await handle.exec(["true"]);
    await worker.stopped(first);
    const { materialization } = await stopping;
    assert.equal(materialization?.status, "requested");
    const next = await worker.take();
    await worker.call("/workspaces/live", {
      ...worker.fields(next),
      isolation: "namespace",
      starts: [exec.id],
    });
    assert.equal((await exec.get()).status, "running");
    await worker.stopped(next);
  });

  test("connect says why a machine could not take the workspace", async () => {
    const { id } = await client.workspaces.create();
    const connecting = client.workspaces.connect(id);
    const refused = assert.rejects(connecting, /could not be put on a machine: no space left/);
    const leased = await worker.take();
    await worker.call("/workspaces/failed", {
      ...worker.fields(leased),
      error: { message: "no space left" },
    });
    await refused;
  });
});
