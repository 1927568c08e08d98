// What is followed is looked at now and then: a wake can be lost with the server that was to send it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import type { FeedSource } from "../../src/core/feeds/feed.ts";
import { createFeedWatch } from "../../src/core/feeds/feed-watch.ts";
import { rawSql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { fillEnvironment } from "../support/filled-environment.ts";
import { recordQueries } from "../support/record-queries.ts";
import { addPerson } from "../support/tenancy.ts";
import { letPass } from "../support/until.ts";

/** Longer than two looks are apart. */
const QUIET_MS = 4_500;

let server: ApiServer;
let sources: Record<FeedSource["kind"], FeedSource>;
before(async () => {
  server = await startApiServer();
  const { userId } = await addPerson(server, "owner");
  const size = { ended: 100, live: 100, others: 40 };
  const { idOf } = await fillEnvironment(server, userId, size);
  const environmentId = decodeId("env", server.credentials.environment_id) as Uuid<"env">;
  const of = (kind: FeedSource["kind"], id: string): FeedSource => ({ kind, environmentId, id });
  const [stream] = await server.db.query<{ id: string }>(
    rawSql(`SELECT id FROM streams WHERE environment_id = '${environmentId}' ORDER BY id LIMIT 1`),
  );
  sources = {
    run: of("run", idOf(size.ended + 1)),
    stream: of("stream", stream?.id as string),
    session: of("session", idOf(size.others / 2)),
    process: of("process", idOf(2)),
    deployment: of("deployment", idOf(size.others / 2)),
  };
});
after(() => server?.stop());

/** Follows, waits for the first look, and counts what is told after it. */
async function follow(source: FeedSource) {
  const changes = { count: 0 };
  let next = Promise.withResolvers<void>();
  const end = createFeedWatch(server.db).watch(source, () => {
    changes.count += 1;
    next.resolve();
    next = Promise.withResolvers();
  });
  await next.promise;
  return { changes, changed: () => next.promise, end };
}

const CHANGES: Record<FeedSource["kind"], string> = {
  run: "UPDATE executions SET log_sequence = log_sequence + 1 WHERE environment_id = $env AND run_id = $id",
  stream: "UPDATE streams SET last_sequence = last_sequence + 1 WHERE environment_id = $env AND id = $id",
  session:
    "UPDATE sessions SET status = 'cancelled', closed_at = now() WHERE environment_id = $env AND id = $id",
  process: "UPDATE processes SET stdout_bytes = stdout_bytes + 1 WHERE environment_id = $env AND id = $id",
  deployment: `INSERT INTO deployment_events (environment_id, deployment_id, sequence, kind, message, at)
    VALUES ($env, $id, 100000, 'info', 'late', now())`,
};

// They wait for the looks of the watch, and can do so together.
describe("without a wake", { concurrency: true }, () => {
  for (const [kind, change] of Object.entries(CHANGES) as [FeedSource["kind"], string][])
    test(`a change of a ${kind} is told, once`, async () => {
      const source = sources[kind];
      const { changes, changed, end } = await follow(source);
      const told = changed();
      await server.db.transaction(async (tx) => {
        await tx.query(
          rawSql(change.replaceAll("$env", `'${source.environmentId}'`).replaceAll("$id", `'${source.id}'`)),
        );
      });
      await told;
      await letPass(QUIET_MS, "further looks would come by then");
      assert.equal(changes.count, 2, "the first look, and the change");
      end();
    });
});

test("what does not change costs one statement a look, however many follow", async () => {
  const watch = createFeedWatch(server.db);
  let told = 0;
  const all = Array.from({ length: 300 }, (_, n) => Object.values(sources)[n % 5] as FeedSource);
  const first = Promise.withResolvers<void>();
  const ends = all.map((source) =>
    watch.watch(source, () => void (++told === all.length && first.resolve())),
  );
  await first.promise;
  const queries = await recordQueries(async () => {
    await letPass(QUIET_MS, "further looks would come by then");
  });
  const looks = queries.filter(({ text }) => text.includes("WITH ORDINALITY AS k (kind,"));
  assert.ok(looks.length >= 1 && looks.length <= 3, `${looks.length} statements`);
  assert.equal(told, all.length);
  for (const end of ends) end();
  const after = await recordQueries(async () => {
    await letPass(QUIET_MS, "further looks would come by then");
  });
  assert.deepEqual(
    after.filter(({ text }) => text.includes("WITH ORDINALITY AS k (kind,")),
    [],
    "nobody follows, and it is looked",
  );
});
