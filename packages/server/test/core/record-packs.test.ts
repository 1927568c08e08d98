import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { preventRemovals } from "../../src/core/blobs/removal-lock-reads.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { packRecords, type PackRecordsContext } from "../../src/core/streams/pack-records.ts";
import { loadConfig } from "../../src/config.ts";
import { openCopySession } from "../../src/db/copy-tables.ts";
import { sql } from "../../src/db/sql.ts";
import { newMessageId } from "../../../sdk/src/client/random.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Killed, killedAt } from "../support/killed-at.ts";
import { readEvents } from "../support/read-events.ts";
import { until } from "../support/until.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { cancelSessions, emit, send, sessionKnows, startSession } from "../support/session-scene.ts";

const HOUR_MS = 3_600_000;

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

describe("old records of output", () => {
  let database: TestDatabase;
  let scene: RunScene;
  let context: PackRecordsContext;
  before(async () => {
    database = await createTestDatabase();
    scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] }, { database });
    context = {
      db: scene.server.db,
      clock: () => scene.clock.now() + 2 * HOUR_MS,
      noteLoopFailure: () => undefined,
      packRecordsAfterMs: HOUR_MS,
    };
  });
  afterEach(() => cancelSessions(scene));
  after(() => scene.stop());

  /** A session whose stream `output` has so many records, each seventh of the exchange `seven`. */
  const talk = async (count: number, bytes = 10): Promise<Json> => {
    const session = await startSession(scene);
    await say(session, count, bytes);
    return session;
  };
  const say = async (session: Json, count: number, bytes = 10): Promise<void> => {
    for (let n = 0; n < count; n += 50) {
      const records = Array.from({ length: Math.min(50, count - n) }, (_, index) => ({
        data: `${n + index} ${"é".repeat(bytes)}`,
        correlation_id: (n + index) % 7 === 0 ? "seven" : `of ${(n + index) % 7}`,
        ...((n + index) % 11 === 0 && { content_type: "text/plain" }),
      }));
      const path = `/api/sessions/${session.id}/outputs/output`;
      const { status, text } = await scene.call("POST", path, { body: { records } });
      assert.equal(status, 201, text);
    }
  };

  const readPages = async (session: Json, query: string, after = 0): Promise<Json[]> => {
    const found: Json[] = [];
    for (let cursor: string | number = after; ;) {
      const path = `/v1/sessions/${session.id}/outputs/read?stream=output&wait=0s&cursor=${cursor}&${query}`;
      const { status, body, text } = await scene.call("GET", path);
      assert.equal(status, 200, text);
      if (body.records.length === 0) return found;
      found.push(...body.records);
      cursor = body.next_cursor;
    }
  };
  const follow = (session: Json, query: string, lastSequence: number): Promise<Json[]> =>
    readEvents(scene.server, `/api/sessions/${session.id}/outputs/output/read?follow=1&${query}`, {
      until: ({ id }) => id === String(lastSequence),
    });

  /** Everything that a reader can see, each way of reading it. */
  const readAll = async (session: Json): Promise<Json> => ({
    whole: await readPages(session, "limit=200"),
    small: await readPages(session, "limit=13", 5),
    exchange: await readPages(session, "limit=9&correlation_id=seven"),
    late: await readPages(session, "limit=9&correlation_id=seven", 170),
    nobody: await readPages(session, "correlation_id=nobody"),
    followed: await follow(session, "cursor=20", 250),
    followedExchange: await follow(session, "cursor=20&correlation_id=seven", 246),
  });
  const stored = async (session: Json): Promise<{ rows: number; packs: number; bytes: number }> => {
    const id = decodeId("sess", session.id);
    const [row] = await scene.server.db.query<{ rows: number; packs: number; bytes: number }>(sql`
      SELECT
        (SELECT count(*) FROM stream_records r JOIN streams t ON t.id = r.stream_id WHERE t.session_id = ${id}) AS rows,
        (SELECT count(*) FROM record_packs k JOIN streams t ON t.id = k.stream_id WHERE t.session_id = ${id}) AS packs,
        coalesce((SELECT sum(pg_column_size(k.*)) FROM record_packs k JOIN streams t ON t.id = k.stream_id
          WHERE t.session_id = ${id}), 0)::bigint AS bytes`);
    assert.ok(row !== undefined);
    return { ...row };
  };
  const storedBytes = async (): Promise<number> => {
    const [row] = await scene.server.db.query<{ bytes: number }>(
      sql`SELECT sum(bytes)::bigint AS bytes FROM stored_bytes`,
    );
    return row?.bytes ?? 0;
  };

  test("are counted as before, and dropped when they were kept long enough", async () => {
    // Counts are of the whole installation, and come later: this is the first test.
    assert.equal(await storedBytes(), 0);
    const session = await talk(1_300, 0);
    const bytes = Array.from({ length: 1_300 }, (_, n) => `"${n} "`.length).reduce((a, b) => a + b);
    await until("the records are counted", 10_000, async () => (await storedBytes()) === bytes);
    await packRecords(context);
    assert.equal(await storedBytes(), bytes, "a quota counts what was appended, however it is kept");
    await scene.call("POST", `/api/sessions/${session.id}/cancel`);
    // Until then the session may be locked, and is left to the next round.
    await sessionKnows(scene, session.current_run_id);
    const dropped: number[] = [];
    const drop = (keep: Record<string, string>): Promise<void> =>
      dropEnded({
        db: scene.server.db,
        clock: () => scene.clock.now() + 30 * HOUR_MS,
        retention: loadConfig({ KEELSON_KEEP_RUNS: "never", KEELSON_KEEP_SESSIONS: "never", ...keep })
          .retention,
        countDropped: (kind, count) => void (kind === "records" && dropped.push(count)),
        noteSwept: () => undefined,
        noteLoopFailure: () => undefined,
      });
    await drop({ KEELSON_KEEP_RECORDS: "24h" });
    assert.equal(
      dropped.reduce((sum, count) => sum + count, 0),
      1_300,
    );
    assert.deepEqual(await stored(session), { rows: 0, packs: 0, bytes: 0 });
    assert.equal(await storedBytes(), 0);
    const path = `/v1/sessions/${session.id}/outputs/read?stream=output&wait=0s`;
    assert.equal((await scene.call("GET", `${path}&cursor=5`)).status, 410);
    assert.deepEqual((await scene.call("GET", path)).body.records, []);
  });

  test("are read as before once they are packed, in each way", async () => {
    const session = await talk(250);
    const small = await talk(100);
    const seen = await readAll(session);
    assert.equal(seen.whole.length, 250);
    assert.equal(seen.small.length, 245);
    assert.equal(seen.exchange.length, 36);
    assert.equal(seen.followed.length, 230);
    await packRecords({ ...context, clock: scene.clock.now });
    assert.deepEqual(await stored(session), { rows: 250, packs: 0, bytes: 0 }, "they are new");
    await packRecords({ ...context, packRecordsAfterMs: null });
    assert.deepEqual(await stored(session), { rows: 250, packs: 0, bytes: 0 }, "never");
    await packRecords(context);
    const { rows, packs } = await stored(session);
    assert.deepEqual([rows, packs], [1, 1], "the last one stays a row");
    assert.deepEqual(await readAll(session), seen);
    assert.equal((await stored(small)).packs, 0, "not worth a pack");

    // The stream goes on, and what is added is packed later.
    await say(session, 150);
    const longer = await readPages(session, "limit=100");
    assert.deepEqual(longer.slice(0, 250), seen.whole);
    await packRecords(context);
    assert.deepEqual(await stored(session).then((now) => [now.rows, now.packs]), [1, 2]);
    assert.deepEqual(await readPages(session, "limit=100"), longer);
    assert.deepEqual(await readPages(session, "limit=1", 396), longer.slice(396));
  });

  test("of a few large ones are packed as well, and a page ends where it is large enough", async () => {
    const session = await talk(110, 9_000);
    const before = await readPages(session, "limit=200");
    await packRecords(context);
    assert.ok((await stored(session)).packs > 5);
    assert.deepEqual(await readPages(session, "limit=200"), before);
    const first = await scene.call("GET", `/v1/sessions/${session.id}/outputs/read?stream=output&limit=200`);
    assert.ok(first.body.records.length < 70, `${first.body.records.length} records of 18 kB in a page`);
    assert.equal(first.body.ended, false);
  });

  test("stay rows from the first piece of a message that is being written, and input always", async () => {
    const session = await startSession(scene, { input: "hi" });
    const lease = await scene.worker.takeOne();
    const id = newMessageId();
    const write = (n: number, message: object | null): Json =>
      lease.operation("outputs", {
        ...{ position: null, stream: "output", ...(message && { message: { id, ...message } }) },
        records: Array.from({ length: n }, (_, at) => ({ data: `${at} ` })),
      });
    assert.deepEqual(
      await scene.worker.report(
        lease.operation("start"),
        write(120, null),
        write(100, { begins: true }),
        write(90, {}),
      ),
      [200, 200, 200, 200],
    );
    for (let n = 0; n < 110; n += 1) assert.equal((await send(scene, session, n)).status, 201);
    await packRecords(context);
    assert.deepEqual(await stored(session).then(({ rows, packs }) => [rows, packs]), [190 + 111, 1]);
    assert.deepEqual(await scene.worker.report(write(0, { ends: "complete" })), [200]);
    const messages = async (): Promise<Json[]> =>
      (await scene.call("GET", `/v1/sessions/${session.id}/messages`)).body.messages;
    const before = await messages();
    assert.equal(before[0].data.length, 10 * 2 + 90 * 3 + 10 * 2 + 80 * 3, "all of its pieces");
    await packRecords(context);
    assert.deepEqual(await stored(session).then(({ rows, packs }) => [rows, packs]), [1 + 111, 2]);
    assert.deepEqual(await messages(), before);
    await scene.worker.finish(lease);
  });

  test("survive a crash before and after every statement, neither lost nor doubled", async () => {
    let kills = 0;
    for (let at = 0; ; at += 1) {
      const session = await talk(250);
      const read = (): Promise<Json[][]> =>
        Promise.all([readPages(session, "limit=90"), readPages(session, "correlation_id=seven")]);
      const seen = await read();
      const isKilled = await packRecords({ ...context, db: killedAt(context.db, at).db }).then(
        () => false,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return true;
        },
      );
      assert.deepEqual(await read(), seen, `after a crash at ${at}`);
      await packRecords(context);
      assert.deepEqual(await read(), seen, `packed after a crash at ${at}`);
      assert.equal((await stored(session)).rows, 1);
      if (!isKilled) break;
      kills += 1;
    }
    console.log(`${kills} crashes`);
    assert.ok(kills >= 12);
  });

  test("are packed once by servers that do it at the same time, and read without a gap meanwhile", async () => {
    const sessions = await Promise.all(Array.from({ length: 4 }, () => talk(1_200)));
    const [first] = sessions;
    const before = await readPages(first, "limit=200");
    const progress = { isPacked: false };
    const reading = (async () => {
      for (let rounds = 0; !progress.isPacked || rounds < 2; rounds += 1)
        for (const query of ["limit=200", "limit=77"])
          assert.deepEqual(await readPages(first, query), before);
    })();
    await Promise.all([packRecords(context), packRecords(context), packRecords(context)]);
    progress.isPacked = true;
    await reading;
    for (const session of sessions)
      assert.deepEqual(await stored(session).then(({ rows, packs }) => [rows, packs]), [1, 2]);
  });

  test("stay rows while a backup is written", async () => {
    const session = await talk(150);
    const backup = await openCopySession(database.url);
    await preventRemovals(backup);
    await packRecords(context);
    assert.equal((await stored(session)).packs, 0);
    await backup.close();
    await packRecords(context);
    assert.equal((await stored(session)).packs, 1);
    assert.equal((await scene.server.db.query(sql`SELECT FROM loop_failures`)).length, 0);
  });

  test("are left alone until servers of the version before had a day to go", async () => {
    const session = await talk(150);
    const begin = (hours: number) =>
      scene.server.db.query(
        sql`UPDATE record_packing SET begins_at = now() + make_interval(hours => ${hours}::integer)`,
      );
    await begin(24);
    await packRecords(context);
    assert.equal((await stored(session)).packs, 0);
    await packRecords({ ...context, clock: () => scene.clock.now() + 25 * HOUR_MS });
    assert.equal((await stored(session)).packs, 1);
    await begin(-1);
  });

  test("answer a repeated request as the first time", async () => {
    const session = await startSession(scene);
    const headers = { "idempotency-key": "again" };
    const path = `/api/sessions/${session.id}/outputs/output`;
    const body = { records: Array.from({ length: 50 }, (_, n) => ({ data: n })) };
    const first = await scene.call("POST", path, { body, headers });
    assert.equal(first.status, 201, first.text);
    await say(session, 150);
    await packRecords(context);
    assert.equal((await stored(session)).rows, 1);
    const again = await scene.call("POST", path, { body, headers });
    assert.deepEqual(again.body, first.body);
  });

  test("of an answer of 2,000 pieces take less than the answer itself as text", async () => {
    const words = "the run of a task waits until its token is completed by a person or by a provider".split(
      " ",
    );
    const session = await startSession(scene);
    let text = "";
    for (let n = 0, seed = 7; n < 2_000; n += 50) {
      const records = Array.from({ length: 50 }, () => {
        seed = (seed * 48_271) % 2_147_483_647;
        const piece = `${words[seed % words.length]} ${seed.toString(36)} of ${words[(seed >> 5) % words.length]} `;
        text += piece;
        return { data: piece, correlation_id: "answer" };
      });
      scene.clock.advance(40);
      const { status } = await scene.call("POST", `/api/sessions/${session.id}/outputs/output`, {
        body: { records },
      });
      assert.equal(status, 201);
    }
    await emit(scene, session, "end");
    await packRecords(context);
    const { rows, packs, bytes } = await stored(session);
    console.log(`${text.length} bytes of text, ${bytes} bytes in ${packs} packs`);
    assert.deepEqual([rows, packs], [1, 2]);
    assert.ok(bytes < text.length * 1.2, `${bytes} bytes for ${text.length}`);
  });
});
