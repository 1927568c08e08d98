// What users do leaves rows and bytes, and all of them have a rule by which they go: a second year of the same use ends with as many
// rows as the first, but for what is listed here with its reason.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { loadConfig } from "../../src/config.ts";
import { createKnownRuns } from "../../src/core/executions/known-runs.ts";
import { createContext } from "../../src/create-context.ts";
import { createCredentialUse } from "../../src/core/credentials/credential-use.ts";
import { rawSql } from "../../src/db/sql.ts";
import { createRateLimits } from "../../src/http/edge/rate-limits.ts";
import { createLog } from "../../src/log.ts";
import type { LoopWork } from "../../src/loops/loop.ts";
import { openDatabase } from "../../src/open-database.ts";
import { openMetrics } from "../../src/open-metrics.ts";
import { loopWorks } from "../../src/server.ts";
import { trustClock } from "../../src/time/timekeeper.ts";
import { newMessageId } from "../../../sdk/src/client/random.ts";
import { TEST_MASTER_KEY } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { LOOP_ROUND } from "../support/loop-round.ts";
import { logChunk } from "../support/raw-worker.ts";
import { connectClient, refresh, register } from "../support/oauth.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { emit, send, sessionKnows, startSession } from "../support/session-scene.ts";
import { addPerson } from "../support/tenancy.ts";
import { until } from "../support/until.ts";
import { workspaceCalls } from "../support/workspaces.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const DAY_MS = 86_400_000;
const YEARS_MS = 500 * DAY_MS;

/** What stays, and why it may. */
const STAYS: Readonly<Record<string, string>> = {
  audit_events: "the log of who did what is kept for ever",
  users: "people stay until they are removed",
  members: "people stay until they are removed",
  deployments: "the ten newest stay",
  deployment_events: "they go with their deployment",
  lease_requests: "the newest 64 of a worker stay",
  run_counts: "sums, a row for each status and share",
  run_search_blocks: "how far the index of words is, neighbours are joined",
  run_search_environments: "how far the index of words is",
};

let database: TestDatabase;
let scene: RunScene;
before(async () => {
  database = await createTestDatabase();
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] }, { database });
});
after(() => scene?.stop());

const done = async (method: string, path_: string, body?: object, as?: string): Promise<Json> => {
  const answer = await scene.call(method, path_, { ...(body && { body }), ...(as !== undefined && { as }) });
  assert.ok(answer.status < 300, `${method} ${path_}: ${answer.text}`);
  return answer.body;
};

/** A run of each ending, with rows in every table of runs. */
async function useRuns(): Promise<void> {
  for (const outcome of ["succeeded", "failed"]) {
    const lease = await scene.leased({
      payload: { text: "é" },
      tags: ["a", "b"],
      idempotency_key: randomUUID(),
    });
    const exec = { position: 4, task: "plain", payload: {} };
    const at = new Date(scene.clock.now()).toISOString();
    const results = await scene.worker.report(
      lease.operation("start"),
      lease.operation("steps", { entries: [{ position: 1, kind: "step", name: "read", value: "é" }] }),
      lease.operation("waits", {
        waits: [{ position: 2, name: "timer", kind: "timer", timeout: "3m" }],
        parked: false,
      }),
      lease.operation("child-runs", exec),
      lease.operation("logs", { chunks: [logChunk("said")] }),
      lease.operation("metadata", { changes: [{ op: "set", key: "noted", value: true }] }),
      lease.operation("events", {
        events: [{ kind: "step.completed", message: "Read.", attributes: { name: "read" }, at }],
      }),
      lease.operation("usage", { used: [{ model: "large", input_tokens: 10 }] }),
    );
    assert.deepEqual(new Set(results), new Set([200]), JSON.stringify(results));
    const failure = { kind: "application_error", message: "It broke.", retryable: false };
    const ending = outcome === "failed" ? { outcome, failure } : { outcome };
    assert.deepEqual(await scene.worker.report(lease.operation("release", ending)), [200]);
    const child = await scene.worker.takeOne();
    await scene.worker.finish(child);
  }
  const { id } = await done("POST", "/v1/runs/bulk-actions", {
    action: "replay",
    filter: { status: ["succeeded"] },
  });
  await until(
    "the bulk action has ended",
    60_000,
    async () => (await done("GET", `/v1/runs/bulk-actions/${id}`)).status !== "running",
  );
  await scene.cancelAll();
}

/** A session with all that one can have, which has ended. */
async function useSessions(): Promise<void> {
  const session = await startSession(scene, { external_id: "ticket", tags: ["open"], input: "hi" });
  const lease = await scene.worker.takeOne();
  const message = newMessageId();
  const write = (fields: object, data: unknown): Json =>
    lease.operation("outputs", {
      position: null,
      stream: "output",
      message: { id: message, ...fields },
      records: [{ data }],
    });
  assert.deepEqual(
    new Set(
      await scene.worker.report(
        lease.operation("start"),
        write({ begins: true }, "half"),
        write({ ends: "complete" }, "whole"),
        lease.operation("usage", { used: [{ model: "large", input_tokens: 10 }] }),
      ),
    ),
    new Set([200]),
  );
  await emit(scene, session, "aside", {}, "notes");
  await send(scene, session, "more", { idempotency_key: randomUUID() });
  const bytes = Buffer.from(`a picture ${randomUUID()}`);
  const digest = createHash("sha256").update(bytes).digest("hex");
  const file = `/api/sessions/${session.id}/files/${digest}?name=a.txt`;
  assert.equal((await scene.call("PUT", file, { bytes })).status, 201);
  await done("PUT", `/api/sessions/${session.id}/state`, { state: { seen: 1 } });
  await done("POST", "/api/public-access-tokens", {
    scope: { type: "session.chat", session: { type: "id", id: session.id } },
  });
  await scene.call("POST", `/api/sessions/${session.id}/cancel`);
  await scene.worker.releaseAll();
  await sessionKnows(scene, lease.runId);
}

async function useTheRest(): Promise<void> {
  const token = await done("POST", "/api/tokens", {
    tags: ["ask"],
    timeout: "30s",
    idempotency_key: randomUUID(),
  });
  await done("POST", `/api/tokens/${token.id}/complete`, { data: { ok: true } });
  await done("POST", "/api/tokens", { timeout: "30s" });

  const schedule = await done("POST", "/api/schedules", {
    deduplication_key: randomUUID(),
    task: "plain",
    cron: "0 0 * * *",
  });
  await done("DELETE", `/api/schedules/${schedule.id}`);

  const { create, write } = workspaceCalls(scene.server);
  const workspace = await create({ tags: ["own"] });
  for (const text of ["one", "two"]) await write(workspace.id, "a.txt", `${text} ${randomUUID()}`);
  const { current_version_id } = await done("GET", `/api/workspaces/${workspace.id}`);
  await create({ from_version_id: current_version_id });
  const { workspaces } = await done("GET", "/api/workspaces?limit=200");
  for (const { id } of workspaces) await done("DELETE", `/api/workspaces/${id}`);

  const secret = `KEY_${randomUUID().replaceAll("-", "")}`;
  await done("PUT", `/api/secrets/${secret}`, { value: "hidden" });
  await done("DELETE", `/api/secrets/${secret}`);
  await scene.deploy({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });

  const { email } = await addPerson(scene.server, "viewer");
  const started = await scene.server.call("POST", "/api/auth/magic-link/start", {
    as: null,
    body: { email },
  });
  const link = scene.server.mails.at(-1)?.match(/token=(\S+)/)?.[1];
  const finish = { as: null, body: { token: link, nonce: started.body.nonce } };
  assert.equal((await scene.server.call("POST", "/api/auth/magic-link/finish", finish)).status, 200);
  await scene.server.call("POST", "/api/auth/device/start", { as: null, body: {} });
  await register(scene.server);
  await refresh(scene.server, ...(await connected()));
}

/** A client that a person approved, and its refresh token. */
async function connected(): Promise<[clientId: string, refreshToken: string]> {
  const client = await connectClient(scene.server);
  return [client.clientId, client.refresh];
}

/** What servers do by themselves, long after. */
async function pass(ms: number): Promise<void> {
  const config = {
    ...loadConfig({}),
    ...{
      dataDir: scene.server.dataDir,
      databaseUrl: database.url,
      masterKey: TEST_MASTER_KEY,
      databasePoolSize: 4,
    },
  };
  const log = createLog("fatal");
  const counted = openMetrics(log);
  const store = openDatabase(config, log, { note: counted.note, noteWaited: counted.noteWaited });
  const clock = (): number => scene.clock.now() + ms;
  const failures: unknown[] = [];
  try {
    const { context } = await createContext(config, store.db, log, {
      ...{ timekeeper: trustClock(clock), print: () => undefined, wakes: store.wakes, counted },
      knownRuns: createKnownRuns(),
    });
    const noting = { ...context, noteLoopFailure: (failure: unknown) => void failures.push(failure) };
    const works = loopWorks(noting, createCredentialUse(), createRateLimits(config.rateLimits, context));
    for (let round = 0; round < 4; round += 1)
      for (const work of works.filter(isOfTime)) await work.run(LOOP_ROUND);
  } finally {
    await store.notifier.stop();
    await store.db.close();
  }
  assert.deepEqual(failures, []);
}

/** The scene's worker is needed for the next year. */
const isOfTime = ({ name }: LoopWork): boolean => name !== "drop-gone-workers";

async function countRows(): Promise<Map<string, number>> {
  const tables = await scene.server.db.query<{ name: string }>(
    rawSql(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY 1`,
    ),
  );
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const [row] = await scene.server.db.query<{ count: number }>(rawSql(`SELECT count(*) FROM ${name}`));
    counts.set(name, row?.count ?? 0);
  }
  return counts;
}

const countFiles = async (folder: string): Promise<number> =>
  (
    await readdir(path.join(scene.server.dataDir, folder), { recursive: true, withFileTypes: true }).catch(
      () => [],
    )
  ).filter((entry) => entry.isFile()).length;

test("what users do leaves nothing behind in the end", async (t) => {
  const yearly: Map<string, number>[] = [];
  for (let year = 0; year < 3; year += 1) {
    await useRuns();
    await useSessions();
    await useTheRest();
    const used = await countRows();
    // What ends only then is kept for a time, too.
    for (const ms of [YEARS_MS, 2 * YEARS_MS]) await pass(ms);
    const left = await countRows();
    for (const folder of ["blobs", "workspaces"]) left.set(`files in ${folder}`, await countFiles(folder));
    yearly.push(left);
    t.diagnostic([...used].map(([name, rows]) => `${name} ${rows} → ${left.get(name)}`).join("; "));
  }
  const [, second, third] = yearly as [Map<string, number>, Map<string, number>, Map<string, number>];
  const grown = [...third].filter(([name, rows]) => rows > (second.get(name) ?? 0)).map(([name]) => name);
  assert.deepEqual(
    grown.filter((name) => !(name in STAYS)),
    [],
  );
});
