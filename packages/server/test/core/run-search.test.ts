// A search over runs finds what reading each run finds: in order, none twice, whatever the index has seen of them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseRunSearch, type RunSearchTerm, type Uuid } from "@keelson/contract";
import { createEndedIndexer, QUIET_MS } from "../../src/core/run-search/index-ended.ts";
import { indexRuns, LATE_MS, SETTLE_MS } from "../../src/core/run-search/index-runs.ts";
import { matchesTerms } from "../../src/core/run-search/run-words.ts";
import { siftRuns } from "../../src/core/run-search/sift-runs.ts";
import { deleteRuns } from "../../src/core/retention/retention-writes.ts";
import { ALL_RUNS, type RunFilter } from "../../src/core/runs/run-filter.ts";
import type { Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator, nextUuidOf, type NewUuid } from "../../src/uuid.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { isLong, newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import {
  endRun,
  failureText,
  insertRuns,
  startSearchScene,
  type SearchedRun,
  type SearchScene,
} from "../support/searched-runs.ts";

const WORDS = ["order", "ada", "paris", "refund", "zürich", "4711", "a_b", "order-4711", "ORDER", "common"];
const QUERIES = [
  "order",
  "ada paris",
  '"ada paris"',
  "orde*",
  "common",
  "common -paris",
  "payload:refund",
  "error:refund",
  "error:typeerror",
  "metadata.city:paris",
  "metadata.city:pari*",
  "metadata:ada",
  "-common",
  "4711",
  "nobody",
  "Zürich",
  "order-4711",
  '"city paris"',
  "daily",
  "application_error",
];

const BLOCK_RUNS = 8;
const seed = newSeed();
const random = seededRandom(seed);
let scene: SearchScene;
let newUuid: NewUuid;
before(async () => {
  scene = await startSearchScene();
  newUuid = createUuidGenerator(scene.clock.now);
});
after(() => scene.stop());

const words = (count: number): string => Array.from({ length: count }, () => pick(random, WORDS)).join(" ");

function drawRun(draw: Random, id: Uuid<"run"> = newUuid<"run">()): SearchedRun {
  const status = pick(draw, ["queued", "succeeded", "succeeded", "failed"] as const);
  return {
    id,
    entrypoint: pick(draw, ["daily-report", "mail"]),
    tags: draw() < 0.3 ? [pick(draw, WORDS)] : null,
    payload:
      draw() < 0.1
        ? null
        : JSON.stringify({ text: words(1 + Math.floor(draw() * 4)), n: Math.floor(draw() * 9) }),
    metadata: draw() < 0.4 ? JSON.stringify({ city: words(1), other: words(2) }) : null,
    failure: status === "failed" ? failureText(words(2), draw() < 0.5 ? "TypeError: x\n at y" : null) : null,
    status,
    parentRunId: draw() < 0.2 ? newUuid<"run">() : null,
  };
}

function termsOf(text: string): RunSearchTerm[] {
  const parsed = parseRunSearch(text);
  assert.ok("search" in parsed, text);
  return parsed.search.terms;
}

/** All pages. */
async function search(
  environmentId: Uuid<"env">,
  filter: Partial<RunFilter>,
  limit: number,
): Promise<string[]> {
  const ids: string[] = [];
  let before: string | null = null;
  do {
    const page = await siftRuns(scene.db, environmentId, { ...ALL_RUNS, ...filter }, before, limit);
    assert.ok(page.ids.length <= limit);
    ids.push(...page.ids);
    before = page.next;
  } while (before !== null);
  return ids;
}

const naive = (
  runs: readonly SearchedRun[],
  { terms = [], statuses = [], hidden = [] }: Partial<RunFilter>,
): string[] =>
  runs
    .filter((run) => matchesTerms(run, terms))
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .filter(({ parentRunId }) => !hidden.includes("children") || parentRunId === null)
    .map(({ id }) => id as string)
    .toSorted()
    .toReversed();

/** A database that loses its connection at a statement now and then. */
function failing(db: Database, often: number): Database {
  const crash = (): void => {
    if (random() < often) throw Object.assign(new Error("the server died here"), { code: "08006" });
  };
  return {
    ...db,
    query: (statement) => db.query(statement),
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        const result = await work({
          ...tx,
          query: async (statement) => {
            crash();
            return tx.query(statement);
          },
        });
        crash();
        return result;
      }, options),
  };
}

async function index(db: Database = scene.db): Promise<void> {
  const context = { ...scene.context, db, blockRuns: BLOCK_RUNS };
  const ended = createEndedIndexer(context);
  while (await indexRuns(context));
  while (await ended.run());
}

/** A round that dies somewhere, or does not. */
const crashingIndex = (): Promise<void> => index(failing(scene.db, 0.05)).catch(() => undefined);

type Counts = { rows: number; live: number; missing: number };
async function counts(environmentId: Uuid<"env">): Promise<Counts> {
  const [row] = await scene.db.query<Counts>(sql`
    SELECT (SELECT count(*) FROM run_search WHERE environment_id = ${environmentId}) AS rows,
      (SELECT count(*) FROM run_search_live WHERE environment_id = ${environmentId}) AS live,
      (SELECT count(*) FROM runs r WHERE environment_id = ${environmentId} AND NOT EXISTS (
        SELECT FROM run_search w WHERE w.environment_id = r.environment_id AND w.run_id = r.id AND w.version = 1)) AS missing`);
  assert.ok(row);
  return row;
}

async function assertSame(environmentId: Uuid<"env">, runs: readonly SearchedRun[]): Promise<void> {
  for (const query of QUERIES) {
    const terms = termsOf(query);
    const limit = 1 + Math.floor(random() * 20);
    for (const filter of [
      { terms },
      { terms, statuses: ["failed" as const] },
      { terms, hidden: ["children" as const] },
    ])
      assert.deepEqual(
        await search(environmentId, filter, limit),
        naive(runs, filter),
        `${query} ${JSON.stringify(filter)} by ${limit}, seed ${seed}`,
      );
  }
}

describe("search over runs", () => {
  const known: [SearchedRun[], SearchedRun[]] = [[], []];

  test(`it finds what reading each run finds, while the index is filled by servers that die (seed ${seed})`, async () => {
    const [first, second] = scene.environments;
    for (let round = 0; round < (isLong() ? 30 : 4); round += 1) {
      for (const [at, environmentId] of [first, second].entries()) {
        const drawn = Array.from({ length: 1 + Math.floor(random() * 40) }, () => {
          scene.clock.advance(Math.floor(random() * 200));
          return drawRun(random);
        });
        // In any order, as transactions commit.
        await insertRuns(
          scene.db,
          environmentId,
          drawn.toSorted(() => random() - 0.5),
        );
        known[at]?.push(...drawn);
        await Promise.all([crashingIndex(), crashingIndex()]);
        await assertSame(environmentId, known[at] ?? []);
        for (const run of known[at] ?? []) {
          if (run.status !== "queued" || random() < 0.5) continue;
          Object.assign(run, {
            status: "failed",
            failure: failureText(words(2)),
            metadata: JSON.stringify({ city: words(1) }),
          });
          await endRun(scene.db, environmentId, run);
        }
      }
      await index();
    }
    scene.clock.advance(2 * SETTLE_MS);
    await index();
    for (const [at, environmentId] of [first, second].entries()) {
      await assertSame(environmentId, known[at] ?? []);
      const { rows, live, missing } = await counts(environmentId);
      assert.deepEqual([rows, missing], [known[at]?.length, 0]);
      assert.equal(live, known[at]?.filter(({ status }) => status === "queued").length);
    }
  });

  test("a run whose transaction commits late is found by the late pass", async () => {
    const [environmentId] = scene.environments;
    const early = { ...drawRun(random), payload: '{"late":"straggler"}' };
    scene.clock.advance(5_000);
    const others = [drawRun(random), drawRun(random)];
    await insertRuns(scene.db, environmentId, others);
    scene.clock.advance(5_000);
    await index();
    await insertRuns(scene.db, environmentId, [early]);
    known[0].push(early, ...others);
    await index();
    assert.deepEqual((await counts(environmentId)).missing, 1);
    scene.clock.advance(LATE_MS);
    await index();
    assert.deepEqual((await counts(environmentId)).missing, 0);
    assert.deepEqual(await search(environmentId, { terms: termsOf("straggler") }, 10), [early.id]);
    await assertSame(environmentId, known[0]);
  });

  test("words that are cut in a new way are made again, and meanwhile nothing is missed", async () => {
    const [environmentId] = scene.environments;
    await scene.db.query(sql`
      UPDATE run_search SET version = 0, words = '' WHERE environment_id = ${environmentId}`);
    await scene.db.query(sql`
      UPDATE run_search_environments SET version = 0 WHERE environment_id = ${environmentId}`);
    await assertSame(environmentId, known[0]);
    await crashingIndex();
    await assertSame(environmentId, known[0]);
    await index();
    assert.deepEqual((await counts(environmentId)).missing, 0);
    await assertSame(environmentId, known[0]);
  });

  test("what is read of a common word is one environment's", async () => {
    const [first, second] = scene.environments;
    const own = { ...drawRun(random), payload: '{"text":"shared"}' };
    const foreign = { ...drawRun(random), payload: '{"text":"shared"}' };
    await insertRuns(scene.db, first, [own]);
    await insertRuns(scene.db, second, [foreign]);
    known[0].push(own);
    known[1].push(foreign);
    scene.clock.advance(2 * SETTLE_MS);
    await index();
    assert.deepEqual(await search(first, { terms: termsOf("shared") }, 10), [own.id]);
    assert.deepEqual(await search(second, { terms: termsOf("shared") }, 10), [foreign.id]);
  });

  test("words of a run go with it, and blocks without runs go with the next sweep", async () => {
    const [environmentId, other] = scene.environments;
    const gone = known[0].filter(({ status }) => status !== "queued");
    await scene.db.transaction((tx) =>
      deleteRuns(
        tx,
        environmentId,
        gone.map(({ id }) => id),
      ),
    );
    const left = known[0].filter(({ status }) => status === "queued");
    assert.equal((await counts(environmentId)).rows, left.length);
    // One that was written while its run was being dropped.
    await scene.db.query(sql`
      INSERT INTO run_search (environment_id, run_id, version, words)
      VALUES (${environmentId}, ${nextUuidOf(gone[0]?.id ?? "")}, 1, '')`);
    scene.clock.advance(24 * 3_600_000);
    await index();
    assert.equal((await counts(environmentId)).rows, left.length);
    await assertSame(environmentId, left);
    await assertSame(other, known[1]);
    const [blocks] = await scene.db.query<{ empty: number }>(sql`
      SELECT count(*) FILTER (WHERE NOT EXISTS (
        SELECT FROM run_search w WHERE w.environment_id = b.environment_id AND w.words @@ ('''#' || b.block || '''')::tsquery)) AS empty
      FROM run_search_blocks b WHERE b.environment_id = ${environmentId}`);
    assert.ok((blocks?.empty ?? 0) <= 2);
  });

  test("words are in their places in the index when a batch is written, not in a list that each search reads", async () => {
    const [environmentId] = scene.environments;
    /** How many pages the list had. */
    const placeAll = async (): Promise<number> => {
      const [row] = await scene.db.query<{ pages: number }>(sql`
        SELECT gin_clean_pending_list('run_search_words') AS pages`);
      return row?.pages ?? 0;
    };
    await placeAll();
    // As a server from before does.
    await scene.db.query(sql`
      INSERT INTO run_search (environment_id, run_id, version, words)
      VALUES (${environmentId}, ${newUuid<"run">()}, 1, '''listed'':1C'::tsvector)`);
    assert.equal(await placeAll(), 1);
    await insertRuns(scene.db, environmentId, [drawRun(random), drawRun(random)]);
    scene.clock.advance(2 * SETTLE_MS);
    const before = await counts(environmentId);
    await index();
    assert.ok((await counts(environmentId)).rows > before.rows);
    assert.equal(await placeAll(), 0);
  });

  test("a run that ends with nothing new keeps its words, and is not read again", async () => {
    const [environmentId] = scene.environments;
    const run = {
      ...drawRun(random),
      status: "queued" as const,
      failure: null,
      metadata: '{"city":"lasting"}',
    };
    await insertRuns(scene.db, environmentId, [run]);
    scene.clock.advance(2 * SETTLE_MS);
    await index();
    const before = await counts(environmentId);
    await endRun(scene.db, environmentId, { ...run, status: "succeeded", metadata: null });
    const queries = await recordOwnQueries(() => index());
    assert.ok(queries.some(({ text }) => text.includes("DELETE FROM run_search_live")));
    assert.ok(!queries.some(({ text }) => text.includes("INSERT INTO run_search ")));
    assert.equal((await counts(environmentId)).live, before.live - 1);
    assert.deepEqual(await search(environmentId, { terms: termsOf("metadata:lasting") }, 10), [run.id]);
  });

  test("nothing is looked at while no run ends, once an end that is late would have been seen", async () => {
    const environmentId = scene.environments[0];
    const waiting = { ...drawRun(random), status: "queued" as const, failure: null };
    await insertRuns(scene.db, environmentId, [waiting]);
    scene.clock.advance(SETTLE_MS + 1);
    await index();
    let now = 0;
    const ended = createEndedIndexer(scene.context, () => now);
    const looks = async (): Promise<boolean> => {
      const queries = await recordOwnQueries(async () => {
        while (await ended.run());
      });
      return queries.some(({ text }) => text.includes("run_search_live"));
    };
    const seen: boolean[] = [await looks()];
    for (now of [QUIET_MS - 1, QUIET_MS, LATE_MS, LATE_MS + QUIET_MS, LATE_MS + 2 * QUIET_MS])
      seen.push(await looks());
    assert.deepEqual(seen, [true, false, true, true, true, false]);
    const failed = { ...waiting, status: "failed" as const, failure: failureText("unheard-of") };
    await endRun(scene.db, environmentId, failed);
    assert.equal(await looks(), true);
    const found = await search(environmentId, { terms: termsOf("error:unheard-of") }, 10);
    assert.equal(found.length, 1);
    now += LATE_MS + 1;
    assert.deepEqual([await looks(), await looks()], [true, false]);
    now += 300_000;
    assert.deepEqual([await looks(), await looks()], [true, false]);
  });
});
