import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import pg from "pg";
import { isConnectionError } from "../../src/db/connection-error.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Tx } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import type { NotedFact } from "../../src/noted-fact.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

describe("a transaction", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let onWake: (key: string) => void = () => undefined;
  const noted: NotedFact[] = [];
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    database = createDatabase({
      url: testDatabase.url,
      poolSize: 8,
      statementNames: true,
      wake: (key) => onWake(key),
      note: (fact) => void noted.push(fact),
    });
    await database.query(sql`CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)`);
  });
  beforeEach(async () => {
    await database.query(sql`DELETE FROM accounts`);
    await database.query(sql`INSERT INTO accounts VALUES (1, 0), (2, 0)`);
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const balances = async (): Promise<unknown[]> =>
    (await database.query<{ balance: number }>(sql`SELECT balance FROM accounts ORDER BY id`)).map(
      (row) => row.balance,
    );

  test("keeps nothing when its function throws, and throws the same error", async () => {
    const thrown = new Error("no");
    const outcome = database.transaction(async (tx) => {
      await tx.query(sql`UPDATE accounts SET balance = 5`);
      throw thrown;
    });
    await assert.rejects(outcome, (error) => error === thrown);
    assert.deepEqual(await balances(), [0, 0]);
  });

  test("notes its facts once it is durable, those of its last attempt alone, and none when it is rolled back", async () => {
    const fact = (settledAt: number): NotedFact => ({ kind: "waits", waits: [], settledAt });
    let attempt = 0;
    await database.transaction(async (tx) => {
      attempt += 1;
      tx.note(fact(attempt));
      if (attempt === 1) await tx.query(sql`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
      assert.deepEqual(noted, []);
    });
    assert.deepEqual(noted, [fact(2)]);
    const outcome = database.transaction(async (tx) => {
      tx.note(fact(3));
      throw new Error("no");
    });
    await assert.rejects(outcome);
    assert.deepEqual(noted, [fact(2)]);
  });

  describe("that wakes", () => {
    let woken: { key: string; seen: Promise<unknown[]> }[];
    beforeEach(() => {
      woken = [];
      // On another connection: what it sees is committed.
      onWake = (key) => void woken.push({ key, seen: balances() });
    });

    test("does so once it is durable, and each key once", async () => {
      await database.transaction(async (tx) => {
        tx.wake("a");
        await tx.query(sql`UPDATE accounts SET balance = 5`);
        tx.wake("b");
        tx.wake("a");
        assert.equal(woken.length, 0);
      });
      assert.deepEqual(
        woken.map(({ key }) => key),
        ["a", "b"],
      );
      for (const { seen } of woken) assert.deepEqual(await seen, [5, 5]);
    });

    test("wakes nobody when it is rolled back", async () => {
      const outcome = database.transaction((tx) => {
        tx.wake("a");
        throw new Error("no");
      });
      await assert.rejects(outcome);
      assert.deepEqual(woken, []);
    });

    test("wakes nobody for an attempt that was run again", async () => {
      let attempt = 0;
      await database.transaction(async (tx) => {
        attempt += 1;
        tx.wake(`attempt ${attempt}`);
        if (attempt === 1) await tx.query(sql`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
      });
      assert.deepEqual(
        woken.map(({ key }) => key),
        ["attempt 2"],
      );
    });
  });

  test("is run again after a deadlock until both have succeeded", async () => {
    const firstLocked = Promise.withResolvers<void>();
    const secondLocked = Promise.withResolvers<void>();
    let runs = 0;
    const add = (
      first: number,
      second: number,
      mine: PromiseWithResolvers<void>,
      other: PromiseWithResolvers<void>,
    ) =>
      database.transaction(async (tx) => {
        runs += 1;
        await tx.query(sql`UPDATE accounts SET balance = balance + 1 WHERE id = ${first}`);
        mine.resolve();
        await other.promise;
        await tx.query(sql`UPDATE accounts SET balance = balance + 1 WHERE id = ${second}`);
      });
    await Promise.all([add(1, 2, firstLocked, secondLocked), add(2, 1, secondLocked, firstLocked)]);
    assert.deepEqual(await balances(), [2, 2]);
    assert.ok(runs >= 3, `${runs} runs`);
  });

  test("is run again after a serialization failure, so that no update is lost", async () => {
    const bothRead = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const increment = (index: 0 | 1) =>
      database.transaction(
        async (tx) => {
          const [row] = await tx.query<{ balance: number }>(sql`SELECT balance FROM accounts WHERE id = 1`);
          bothRead[index].resolve();
          await Promise.all(bothRead.map((read) => read.promise));
          await tx.query(sql`UPDATE accounts SET balance = ${(row?.balance ?? 0) + 1} WHERE id = 1`);
        },
        { isolation: "repeatable read" },
      );
    await Promise.all([increment(0), increment(1)]);
    assert.deepEqual(await balances(), [2, 0]);
  });

  test("gives up after a bounded number of runs", async () => {
    let runs = 0;
    const outcome = database.transaction(async (tx) => {
      runs += 1;
      await tx.query(sql`DO $$ BEGIN RAISE EXCEPTION 'always' USING ERRCODE = '40001'; END $$`);
    });
    await assert.rejects(outcome, { code: "40001" });
    assert.equal(runs, 6);
  });

  test("is no more lucky than a statement alone, which is run again, too", async () => {
    await database.query(sql`CREATE SEQUENCE tries`);
    const failing = (times: number) => sql`
      DO $$ BEGIN IF nextval('tries') <= ${rawSql(String(times))} THEN RAISE SQLSTATE '40001'; END IF; END $$`;
    await database.query(failing(3));
    await assert.rejects(database.query(failing(100)), { code: "40001" });
    const [row] = await database.query<{ last: number }>(sql`SELECT last_value AS last FROM tries`);
    assert.equal(row?.last, 4 + 6);
  });

  test("syncs at commit unless it is relaxed, and the next one syncs again", async () => {
    const read = async (tx: Tx) =>
      (await tx.query<{ value: string }>(sql`SELECT current_setting('synchronous_commit') AS value`))[0]
        ?.value;
    assert.equal(await database.transaction(read), "on");
    assert.equal(await database.transaction(read, { durability: "relaxed" }), "off");
    assert.equal(await database.transaction(read), "on");
  });

  test("rejects with a statement's error that was swallowed, as PostgreSQL then rolls back", async () => {
    const outcome = database.transaction(async (tx) => {
      await tx.query(sql`UPDATE accounts SET balance = 9`);
      await tx.query(sql`SELECT 1 / 0`).catch(() => undefined);
    });
    await assert.rejects(outcome, /division by zero/);
    assert.deepEqual(await balances(), [0, 0]);
  });

  describe("whose statements are sent before the answers", () => {
    const set = (balance: number) => sql`UPDATE accounts SET balance = ${balance}`;
    const fail = sql`UPDATE accounts SET balance = 1 / 0`;

    test("does them in their order", async () => {
      const seen = await database.transaction(async (tx) => {
        await tx.send(set(1));
        await tx.send(sql`UPDATE accounts SET balance = balance * 10 + 2`);
        const [row] = await tx.query<{ balance: number }>(sql`SELECT balance FROM accounts WHERE id = 1`);
        await tx.send(sql`UPDATE accounts SET balance = balance * 10 + 3`);
        return row?.balance;
      });
      assert.equal(seen, 12);
      assert.deepEqual(await balances(), [123, 123]);
    });

    test("tells what failed by the next statement, and keeps nothing", async () => {
      let next: unknown;
      const outcome = database.transaction(async (tx) => {
        await tx.send(set(1));
        await tx.send(fail);
        await tx.query(sql`SELECT 1`).catch((error: unknown) => (next = error));
        throw next;
      });
      await assert.rejects(outcome, /division by zero/);
      assert.match(String(next), /division by zero/);
      assert.deepEqual(await balances(), [0, 0]);
    });

    test("tells what failed by its end, wakes nobody, and leaves a connection that can be used", async () => {
      const woken: string[] = [];
      onWake = (key) => void woken.push(key);
      const outcome = database.transaction(async (tx) => {
        tx.wake("key");
        await tx.send(fail);
        await tx.send(set(1));
      });
      await assert.rejects(outcome, /division by zero/);
      assert.deepEqual([await balances(), woken], [[0, 0], []]);
    });

    test("is run again after a conflict that the last of them met", async () => {
      let attempts = 0;
      await database.transaction(async (tx) => {
        attempts += 1;
        await tx.send(attempts === 1 ? sql`DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$` : set(4));
      });
      assert.deepEqual([attempts, await balances()], [2, [4, 4]]);
    });

    test("gives the rows of the last one, which COMMIT does not wait for", async () => {
      const holder = new pg.Client({ connectionString: testDatabase.url });
      await holder.connect();
      try {
        await holder.query("BEGIN; UPDATE accounts SET balance = 8");
        const sent = Promise.withResolvers<void>();
        const ended = database.transaction(async (tx) => {
          const last = await tx.last<{ balance: number }>(
            sql`UPDATE accounts SET balance = balance + 1 RETURNING balance`,
          );
          sent.resolve();
          return last;
        });
        await sent.promise;
        await holder.query("COMMIT");
        const { rows } = await ended;
        assert.deepEqual(await rows, [{ balance: 9 }, { balance: 9 }]);
        assert.deepEqual(await balances(), [9, 9]);
      } finally {
        await holder.end();
      }
    });

    test("tells what failed as the last one by its end, and by its rows", async () => {
      let last: Promise<unknown> = Promise.resolve();
      const outcome = database.transaction(async (tx) => {
        await tx.send(set(1));
        last = (await tx.last(fail)).rows;
      });
      await assert.rejects(outcome, /division by zero/);
      await assert.rejects(last, /division by zero/);
      assert.deepEqual(await balances(), [0, 0]);
    });

    test("changes nothing when it has not begun", async () => {
      const options = { isolation: "read nothing" as "read committed" };
      const works: ((tx: Tx) => Promise<unknown>)[] = [
        (tx) => tx.query(set(7)),
        (tx) => tx.send(set(7)),
        (tx) => tx.last(set(7)),
        (tx) => tx.query(sql`SELECT 1`).catch(() => tx.query(set(7))),
        (tx) => Promise.all([tx.query(sql`SELECT 1`), tx.query(set(7))]),
        (tx) => Promise.all([tx.send(sql`SELECT 1`), tx.send(set(7))]),
      ];
      for (const work of works)
        await assert.rejects(database.transaction(work, options), /syntax error/, String(work));
      assert.deepEqual(await balances(), [0, 0]);
    });
  });

  test("refuses a statement after its end", async () => {
    let kept: Tx | undefined;
    await database.transaction(async (tx) => {
      kept = tx;
    });
    await assert.rejects(kept?.query(sql`SELECT 1`) ?? Promise.resolve(), /has ended/);
  });

  test("fails with a connection error when its connection is cut, and the pool recovers", async () => {
    const outcome = database.transaction(async (tx) => {
      const [row] = await tx.query<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
      await database.query(sql`SELECT pg_terminate_backend(${row?.pid})`);
      await tx.query(sql`SELECT 1`);
    });
    await assert.rejects(outcome, (error) => isConnectionError(error));
    for (let round = 0; round < 8; round++)
      assert.deepEqual(await database.query(sql`SELECT 1 AS one`), [{ one: 1 }]);
  });
});

describe("isConnectionError", () => {
  test("knows a server that is not there, by socket and by port, and a closed pool", async () => {
    for (const url of [
      "postgresql://keelson@/keelson?host=/nonexistent",
      "postgresql://keelson@127.0.0.1:1/keelson",
    ]) {
      const database = createDatabase({ url, poolSize: 1, statementNames: true });
      await assert.rejects(database.query(sql`SELECT 1`), (error) => isConnectionError(error));
      await assert.rejects(
        database.transaction(async () => 1),
        (error) => isConnectionError(error),
      );
      await database.close();
      await assert.rejects(database.query(sql`SELECT 1`), (error) => isConnectionError(error));
    }
  });

  test("does not take an error of a statement, or of ours, for one, but looks at causes", () => {
    assert.equal(isConnectionError(Object.assign(new Error("duplicate key"), { code: "23505" })), false);
    assert.equal(
      isConnectionError(Object.assign(new Error("no file"), { code: "ENOENT", syscall: "open" })),
      false,
    );
    assert.equal(isConnectionError("Connection terminated"), false);
    assert.equal(
      isConnectionError(new Error("outer", { cause: Object.assign(new Error("inner"), { code: "57P01" }) })),
      true,
    );
  });
});
