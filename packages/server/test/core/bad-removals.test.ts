// Bytes that nobody needs go, whatever is wrong with others of them.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import type { BlobStore } from "../../src/core/blobs/blob.ts";
import { collectBlobs } from "../../src/core/blobs/collect-blobs.ts";
import type { Collected } from "../../src/core/blobs/remove-alone.ts";
import { collectBundles } from "../../src/core/bundles/collect-bundles.ts";
import type { ItemContext } from "../../src/core/loop-failures/failed-items.ts";
import type { LoopFailure } from "../../src/core/loop-failures/loop-failure.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestClock } from "../support/test-clock.ts";

const DAY_MS = 86_400_000;
const GOOD = 1_000;

/** A store of which only removals are asked, and which refuses some. */
function storeOf(removed: Set<string>, isRefused: (digest: string) => boolean): BlobStore {
  return {
    remove: (digest: string) => {
      if (isRefused(digest)) return Promise.reject(new Error(`permission denied: ${digest}`));
      removed.add(digest);
      return Promise.resolve();
    },
  } as unknown as BlobStore;
}

type Kind = {
  name: string;
  loop: string;
  /** Of what may be needed by nobody. */
  table: string;
  collect: (context: ItemContext, store: BlobStore) => Promise<Collected>;
  /** Makes them, last touched at a time in seconds. */
  make: (
    server: ApiServer,
    environmentId: Uuid<"env">,
    digests: Buffer[],
    touchedAt: number,
  ) => Promise<unknown>;
};

const KINDS: Kind[] = [
  {
    name: "bundles",
    loop: "collect-bundles",
    table: "bundle_candidates",
    collect: (context, blobs) => collectBundles({ ...context, blobs }),
    make: ({ db }, environmentId, digests, touchedAt) =>
      db.query(sql`
        INSERT INTO bundle_candidates (environment_id, digest, touched_at)
        SELECT ${environmentId}::uuid, digest, to_timestamp(${touchedAt}::float8) FROM unnest(${digests}::bytea[]) AS d (digest)`),
  },
  {
    name: "blobs of workspaces",
    loop: "collect-blobs",
    table: "blobs",
    collect: (context, store) => collectBlobs({ ...context, workspaceBlobs: () => store }),
    make: ({ db }, environmentId, digests, touchedAt) =>
      db.query(sql`
        INSERT INTO blobs (environment_id, digest, touched_at, size_bytes, candidate)
        SELECT ${environmentId}::uuid, digest, to_timestamp(${touchedAt}::float8), 1, true
        FROM unnest(${digests}::bytea[]) AS d (digest)`),
  },
];

for (const kind of KINDS)
  describe(`the removal of ${kind.name}`, () => {
    const clock = createTestClock();
    const failures: LoopFailure[] = [];
    const removed = new Set<string>();
    let server: ApiServer;
    let environmentId: Uuid<"env">;
    before(async () => {
      server = await startApiServer();
      environmentId = decodeId("env", server.credentials.environment_id) as Uuid<"env">;
      await server.db.query(sql`
        CREATE FUNCTION refuse_digest() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF encode(OLD.digest, 'hex') = TG_ARGV[0] THEN RAISE 'this row is unprocessable'; END IF;
          IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
          RETURN NEW;
        END $$`);
    });
    after(() => server?.stop());

    /** Rounds as the loop makes them: at once while there may be more. */
    async function collectAll(isRefused: (digest: string) => boolean = () => false): Promise<number> {
      const context: ItemContext = {
        db: server.db,
        clock: clock.now,
        noteLoopFailure: (failure) => void failures.push(failure),
      };
      let count = 0;
      for (let rounds = 0; ; rounds += 1) {
        assert.ok(rounds < 50, "the rounds come to an end");
        const collected = await kind.collect(context, storeOf(removed, isRefused));
        count += collected.removed;
        if (!collected.mayHaveMore) return count;
      }
    }

    async function make(name: string, count: number): Promise<string[]> {
      const digests = Array.from({ length: count }, (_, n) =>
        createHash("sha256").update(`${name} ${n}`).digest(),
      ).toSorted((a, b) => Buffer.compare(a, b));
      await kind.make(server, environmentId, digests, clock.now() / 1000);
      clock.advance(2 * DAY_MS);
      return digests.map((digest) => digest.toString("hex"));
    }

    test("goes on beside one that cannot be decided, which is shown and goes in the end", async () => {
      const digests = await make("undecided", GOOD + 1);
      const [bad] = digests as [string];
      await server.db.query(
        rawSql(
          `CREATE TRIGGER refuse_digest BEFORE UPDATE OR DELETE ON ${kind.table} FOR EACH ROW EXECUTE FUNCTION refuse_digest('${bad}')`,
        ),
      );
      assert.equal(await collectAll(), GOOD);
      assert.deepEqual(
        digests.filter((digest) => !removed.has(digest)),
        [bad],
      );
      const shown = failures.splice(0);
      assert.ok(shown.length > 0);
      for (const failure of shown) {
        assert.deepEqual([failure.loop, failure.itemId], [kind.loop, bad]);
        assert.match(failure.cause, /unprocessable/);
      }
      await server.db.query(rawSql(`DROP TRIGGER refuse_digest ON ${kind.table}`));
      clock.advance(DAY_MS);
      assert.equal(await collectAll(), 1);
      assert.ok(removed.has(bad));
    });

    test("goes on beside more than a round takes whose bytes cannot be removed", async () => {
      const digests = await make("refused", 600);
      const refused = new Set(digests.slice(0, 250));
      assert.equal(await collectAll((digest) => refused.has(digest)), 350);
      assert.deepEqual(
        digests.filter((digest) => !removed.has(digest)),
        [...refused],
      );
      assert.equal(new Set(failures.splice(0).map(({ itemId }) => itemId)).size, 250);
      clock.advance(DAY_MS);
      assert.equal(await collectAll(), 250);
      assert.ok(digests.every((digest) => removed.has(digest)));
    });
  });
