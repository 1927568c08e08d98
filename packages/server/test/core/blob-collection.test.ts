import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { insertWorkspaceBlobs, lockCandidates, markCandidates } from "../../src/core/blobs/blob-writes.ts";
import { BLOB_GRACE_MS, collectBlobs } from "../../src/core/blobs/collect-blobs.ts";
import { preventRemovals } from "../../src/core/blobs/removal-lock-reads.ts";
import type { ItemContext } from "../../src/core/loop-failures/failed-items.ts";
import { blobSink, storeBlob, type BlobContext } from "../../src/core/blobs/store-blob.ts";
import { sql } from "../../src/db/sql.ts";
import { digestOf, startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestClock } from "../support/test-clock.ts";
import { workspaceCalls, type WorkspaceCalls } from "../support/workspaces.ts";

describe("the collection of blobs", () => {
  const clock = createTestClock();
  let server: ApiServer;
  let calls: WorkspaceCalls;
  let context: BlobContext & ItemContext;
  let environmentId: Uuid<"env">;
  before(async () => {
    server = await startApiServer();
    calls = workspaceCalls(server);
    environmentId = decodeId("env", server.credentials.environment_id) as Uuid<"env">;
    context = {
      db: server.db,
      clock: clock.now,
      noteLoopFailure: () => undefined,
      workspaceBlobs: (id) => createDiskBlobs(path.join(server.dataDir, "workspaces", id)),
    };
  });
  after(() => server.stop());
  beforeEach(async () => {
    // Nothing of an earlier test is left over.
    clock.advance(2 * BLOB_GRACE_MS);
    await collectBlobs(context);
  });

  const stored = async (): Promise<number> => {
    const found = await readdir(path.join(server.dataDir, "workspaces", environmentId), {
      recursive: true,
      withFileTypes: true,
    });
    return found.filter((entry) => entry.isFile()).length;
  };
  const upload = async (text: string): Promise<string> => {
    const bytes = Buffer.from(text);
    await blobSink(context, environmentId).put(digestOf(bytes), bytes);
    return digestOf(bytes);
  };

  test("what a version needs stays, however old, and goes with its workspace after the grace", async () => {
    const one = await calls.create();
    await calls.write(one.id, "f", "shared");
    const { version_id: version } = await calls.write(one.id, "g", "mine");
    const fork = await calls.create({ from_version_id: version });
    const before = await stored();
    clock.advance(10 * BLOB_GRACE_MS);
    assert.deepEqual(await collectBlobs(context), { removed: 0, mayHaveMore: false });
    await server.call("DELETE", `/api/workspaces/${one.id}`);
    // Deleted by the machine's clock; the collection's is ahead of it.
    assert.equal((await collectBlobs(context, 20 * BLOB_GRACE_MS * 1000)).removed, 0);
    assert.ok((await collectBlobs(context)).removed > 0);
    assert.ok((await stored()) < before);
    assert.deepEqual([await calls.read(fork.id, "f"), await calls.read(fork.id, "g")], ["shared", "mine"]);
    await server.call("DELETE", `/api/workspaces/${fork.id}`);
    await collectBlobs(context);
    assert.equal(await stored(), 0);
    const [rows] = await server.db.query<{ count: number }>(sql`SELECT count(*) AS count FROM blobs`);
    assert.equal(rows?.count, 0);
  });

  test("what was uploaded stays for the grace, and asking for it again makes that anew", async () => {
    const digest = await upload("in flight");
    clock.advance(BLOB_GRACE_MS - 1000);
    assert.equal((await collectBlobs(context)).removed, 0);
    await upload("in flight");
    clock.advance(BLOB_GRACE_MS - 1000);
    assert.equal((await collectBlobs(context)).removed, 0);
    assert.ok(await context.workspaceBlobs(environmentId).has(digest));
    clock.advance(2000);
    assert.equal((await collectBlobs(context)).removed, 1);
    assert.equal(await context.workspaceBlobs(environmentId).has(digest), false);
  });

  test("the memory of an upload is given back, and that of what the server makes itself is not", async () => {
    const parts = [randomBytes(100_000), randomBytes(100_000)].map((part) => Uint8Array.from(part));
    const digest = digestOf(Buffer.concat(parts));
    await storeBlob(context, environmentId, digest, listed(parts));
    assert.deepEqual(
      parts.map(({ byteLength }) => byteLength),
      [0, 0],
    );
    assert.ok((await context.workspaceBlobs(environmentId).read(digest)) !== null);
    const own = Uint8Array.from(randomBytes(100_000));
    await blobSink(context, environmentId).put(digestOf(own), own);
    assert.equal(own.byteLength, 100_000);
  });

  test("an upload of what is being removed waits until it is gone", async () => {
    const digest = await upload("going");
    const key = { environmentId, digest: Buffer.from(digest, "hex") };
    await server.db.query(sql`UPDATE blobs SET removing_since = now() WHERE digest = ${key.digest}`);
    const again = storeBlob(context, environmentId, digest, chunks("going"));
    await context.workspaceBlobs(environmentId).remove(digest);
    await server.db.query(sql`DELETE FROM blobs WHERE digest = ${key.digest}`);
    assert.deepEqual(await again, { sizeBytes: 5 });
    assert.ok(await context.workspaceBlobs(environmentId).has(digest));
  });

  test("nothing is removed while a backup is being written", async () => {
    const digest = await upload("in a backup");
    clock.advance(2 * BLOB_GRACE_MS);
    await server.db.transaction(async (tx) => {
      // Of the connection, which goes back to the pool with it.
      await preventRemovals(tx);
      assert.deepEqual(await collectBlobs(context), { removed: 0, mayHaveMore: false });
      await tx.query(sql`SELECT pg_advisory_unlock_all()`);
    });
    assert.ok(await context.workspaceBlobs(environmentId).has(digest));
    assert.equal((await collectBlobs(context)).removed, 1);
  });

  test("a removal that is slow is not taken over", async () => {
    const digest = await upload("slow to go");
    clock.advance(2 * BLOB_GRACE_MS);
    const [begun, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const store = context.workspaceBlobs(environmentId);
    const remove = async (one: string): Promise<void> => {
      begun.resolve();
      await goesOn.promise;
      await store.remove(one);
    };
    const removing = collectBlobs({ ...context, workspaceBlobs: () => ({ ...store, remove }) });
    await begun.promise;
    clock.advance(BLOB_GRACE_MS);
    assert.equal((await collectBlobs(context)).removed, 0);
    goesOn.resolve();
    assert.equal((await removing).removed, 1);
    assert.equal(await store.has(digest), false);
  });

  test("a removal whose process died is taken up by the next", async () => {
    const digest = await upload("half removed");
    await server.db.query(sql`
      UPDATE blobs SET removing_since = to_timestamp(${clock.now() - 600_000}::float8 / 1000)
      WHERE digest = ${Buffer.from(digest, "hex")}`);
    assert.equal((await collectBlobs(context)).removed, 1);
    assert.equal(await context.workspaceBlobs(environmentId).has(digest), false);
  });

  test("a commit and a removal of the same blob never both succeed, whichever is first", async () => {
    const { id } = await calls.create();
    const workspaceId = decodeId("ws", id) as Uuid<"ws">;
    const due = () => ({ loop: "collect-blobs", limit: 10, now: clock.now() });
    for (const first of ["commit", "removal"]) {
      const digest = Buffer.from(await upload(`raced ${first}`), "hex");
      const commit = () =>
        server.db.transaction((tx) => insertWorkspaceBlobs(tx, environmentId, workspaceId, [digest], true));
      const remove = () =>
        server.db.transaction(async (tx) => {
          const locked = await lockCandidates(tx, clock.now() + 1000, due());
          return markCandidates(tx, locked, clock.now());
        });
      // The loser begins while the winner's transaction is open.
      let loser: Promise<unknown> = Promise.resolve();
      if (first === "commit") {
        await server.db.transaction(async (tx) => {
          assert.deepEqual(await insertWorkspaceBlobs(tx, environmentId, workspaceId, [digest], true), []);
          // Rows that a commit has locked are left for the next round.
          assert.deepEqual(await remove(), []);
        });
        assert.deepEqual(await remove(), []);
      } else {
        await server.db.transaction(async (tx) => {
          const locked = await lockCandidates(tx, clock.now() + 1000, due());
          assert.equal((await markCandidates(tx, locked, clock.now())).length, 1);
          loser = commit();
        });
        assert.deepEqual(await loser, [digest]);
      }
    }
  });
});

async function* listed(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
