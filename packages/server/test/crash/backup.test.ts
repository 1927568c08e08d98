// A backup that is taken while everything is at work, and what a restore makes of it.

import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { loadConfig } from "../../src/config.ts";
import { DamagedBackupError, NotEmptyError } from "../../src/core/backups/backup.ts";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { runBackup } from "../../src/run-backup.ts";
import { runRestore } from "../../src/run-restore.ts";
import { startServer } from "../../src/server.ts";
import { digestOf } from "../support/api-server.ts";
import { claimPort } from "../support/claim-port.ts";
import { checkRollups, isCounted } from "../support/count-runs.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { bundleOf } from "./support/bundle.ts";
import { createCaller } from "./support/caller.ts";
import { checkInvariants } from "./support/invariants.ts";
import { isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { until } from "../support/until.ts";
import { describeProcess, type SpawnedProcess } from "./support/spawned-process.ts";

const TASKS = { work: "await tick(20); return payload;", talk: "return null;" };
/** Of each kind, before the backup begins. */
const ENOUGH = isLong() ? 40 : 20;
/** Bits that are flipped, each in a copy of its own. */
const FLIPS = isLong() ? 40 : 8;
/** Starts wait until fewer are live: what is live when the backup is made has to be run to its end twice. */
const MAX_LIVE = isLong() ? 2_000 : 100;
const WAIT_MS = 90_000;

/** What was acknowledged. */
type Ledger = { runs: string[]; tokens: string[]; records: number; workspaceFiles: string[] };

let site: Site;
let sessionId: string;
/** Of the session. */
const FILE = Buffer.from("an attachment");
let fileId: string;
let workspaceId: string;
let dir: string;
const seed = newSeed();

async function countLive(): Promise<number> {
  const [row] = await site.db.query<{ count: number }>(sql`SELECT count(*) FROM executions`);
  return row?.count ?? 0;
}

async function hasCounted(): Promise<boolean> {
  const rows = await site.db.query(sql`SELECT FROM run_rollup_progress WHERE counted_number > 0`);
  return rows.length > 0;
}

/** Runs that ended before the backup and after the restore are counted once. */
async function sumsHold(db: Database): Promise<void> {
  await until("all ended runs are counted", WAIT_MS, () => isCounted(db));
  assert.ok((await checkRollups(db)) > 0);
  await checkInvariants(db, "after the runs went on");
}

before(async () => {
  dir = await makeTestFolder();
  site = await startSite({ servers: 1, leaseDuration: "6s" });
  const deployment = await createDeployment(
    site,
    bundleOf(TASKS),
    Object.keys(TASKS).map((id) => ({ id, execution: "shared" })),
  );
  // Slower than its work comes, so that runs are queued at every moment.
  await site.agent({ name: "agent 1", server: server(), capacity: 2 }).start();
  await promoteWhenReady(site, deployment);
  sessionId = (await make("/api/sessions", { task: "talk" })).id as string;
  const state = { body: { state: { kept: "é" } } };
  assert.equal((await site.call(server().url, "PUT", `/api/sessions/${sessionId}/state`, state)).status, 200);
  const file = `/api/sessions/${sessionId}/files/${digestOf(FILE)}`;
  const uploaded = await site.call(server().url, "PUT", file, { bytes: FILE });
  assert.equal(uploaded.status, 201);
  fileId = uploaded.body.id as string;
  workspaceId = (await make("/api/workspaces", {})).id as string;
});
after(async () => {
  await site?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function readFileOf(url: string): Promise<string> {
  const headers = { authorization: `Bearer ${site.credentials.api_key}` };
  return (await fetch(`${url}/v1/sessions/${sessionId}/files/${fileId}/content`, { headers })).text();
}

const server = (): ServerProcess => site.servers[0] as ServerProcess;

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
async function make(route: string, body: object): Promise<any> {
  const answer = await site.call(server().url, "POST", route, { body, timeoutMs: WAIT_MS });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

/** Every kind of write at once, one after the other of each kind, until it is told to end. */
function startLoad(): { ledger: Ledger; failed: Promise<unknown>; end: () => Promise<void> } {
  const ledger: Ledger = { runs: [], tokens: [], records: 0, workspaceFiles: [] };
  const over = new AbortController();
  const repeat = async (write: (n: number) => Promise<void>): Promise<void> => {
    for (let n = 1; !over.signal.aborted; n += 1) await write(n);
  };
  const load = Promise.all([
    repeat(async (n) => {
      await until(
        "some runs have ended",
        WAIT_MS,
        async () => over.signal.aborted || (await countLive()) < MAX_LIVE,
      );
      const { results } = await make("/v1/tasks/start-batch", {
        starts: Array.from({ length: 5 }, () => ({ task: "work", payload: { n } })),
      });
      for (const { run } of results) ledger.runs.push(run.id as string);
    }),
    repeat(async (n) => {
      await make(`/api/sessions/${sessionId}/outputs/output`, { records: [{ data: n }, { data: "é" }] });
      ledger.records += 2;
    }),
    repeat(async (n) => {
      const token = await make("/v1/tokens", { tags: ["load"] });
      await make(`/v1/tokens/${token.id}/complete`, { data: { n } });
      ledger.tokens.push(token.id as string);
    }),
    repeat(async (n) => {
      const bytes = Buffer.from(`file ${n}\n`.repeat(n));
      const name = `file-${n % 10}`;
      const put = await site.call(
        server().url,
        "PUT",
        `/api/workspaces/${workspaceId}/files/content?path=${name}`,
        {
          bytes,
          timeoutMs: WAIT_MS,
        },
      );
      assert.ok(put.status < 300, JSON.stringify(put.body));
      ledger.workspaceFiles.push(digestOf(bytes));
    }),
  ]);
  load.catch(() => undefined);
  return {
    ledger,
    failed: load,
    end: async () => {
      over.abort();
      await load;
    },
  };
}

const configOf = (dataDir: string, databaseUrl?: string) =>
  loadConfig({
    KEELSON_DATA_DIR: dataDir,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  });

const backUp = (file: string, includeKeys: boolean) =>
  runBackup(configOf(path.join(site.dir, "data"), site.postgres.url), {
    place: file,
    includeKeys,
    version: "test",
    signal: new AbortController().signal,
    tell: () => undefined,
    notice: () => undefined,
  });

const restore = (file: string, dataDir: string, databaseUrl?: string, checkOnly = false) =>
  runRestore(configOf(dataDir, databaseUrl), {
    place: file,
    checkOnly,
    signal: new AbortController().signal,
    tell: () => undefined,
    notice: () => undefined,
  });

async function emptyFolder(name: string, withKey: boolean): Promise<string> {
  const folder = path.join(dir, name);
  await mkdir(folder);
  if (withKey)
    await writeFile(path.join(folder, "master.key"), await readFile(path.join(site.dir, "data/master.key")));
  return folder;
}

async function startServerOn(databaseUrl: string, dataDir: string): Promise<ServerProcess> {
  const port = await claimPort();
  const described = describeProcess({
    name: "restored server",
    main: "server/src/main.ts",
    readyWhen: /listening on /,
    env: {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      HOST: "127.0.0.1",
      KEELSON_DATA_DIR: dataDir,
      KEELSON_LEASE_DURATION: "6s",
      KEELSON_LOG_LEVEL: "warn",
    },
  });
  await described.start();
  return Object.defineProperty(described, "url", { value: `http://127.0.0.1:${port}` }) as ServerProcess;
}

describe("a backup that is taken under load", () => {
  let file: string;
  let acknowledged: Ledger;

  before(async () => {
    // Ended runs are counted after seconds: the load would fill both cores meanwhile.
    await make("/v1/tasks/start-batch", { starts: [{ task: "work", payload: {} }] });
    await until("ended runs are counted", WAIT_MS, hasCounted);
    const load = startLoad();
    const { ledger } = load;
    const hasEnough = async (): Promise<boolean> =>
      [ledger.runs.length, ledger.tokens.length, ledger.records, ledger.workspaceFiles.length].every(
        (count) => count >= ENOUGH,
      );
    await Promise.race([until("there is something to back up", WAIT_MS, hasEnough), load.failed]);
    acknowledged = structuredClone(ledger);
    const written = await backUp(dir, false);
    file = written.file;
    const upTo = ledger.runs.length;
    await until("the load goes on", WAIT_MS, async () => ledger.runs.length > upTo);
    await load.end();
    assert.match(path.basename(file), /^keelson-\d{8}T\d{6}Z\.tar$/);
    assert.equal(written.manifest.includes_keys, false);
  });

  test("has what was acknowledged before it, in a state that holds together, and goes on where it was", async () => {
    const dataDir = await emptyFolder("restored", true);
    const { heldRuns } = await restore(dir, dataDir);
    const postgres = await startEmbeddedServer({ dataDir: path.join(dataDir, "postgres") });
    const db = createDatabase({ url: postgres.url, poolSize: 2, statementNames: false });
    const processes: SpawnedProcess[] = [];
    try {
      await checkInvariants(db, "after the restore");
      const [found] = await db.query<Record<string, number>>(sql`
        SELECT (SELECT count(*) FROM runs WHERE id = ANY(${uuids("run", acknowledged.runs)}::uuid[])) AS runs,
          (SELECT count(*) FROM tokens WHERE status = 'completed'
             AND id = ANY(${uuids("tok", acknowledged.tokens)}::uuid[])) AS tokens,
          (SELECT max(last_sequence) FROM streams WHERE name = 'output') AS records,
          (SELECT count(*) FROM session_states WHERE value = '{"kept":"é"}' AND version = 1) AS states,
          (SELECT count(*) FROM executions) AS live`);
      assert.deepEqual([found?.["runs"], found?.["states"]], [acknowledged.runs.length, 1]);
      assert.equal(found?.["tokens"], acknowledged.tokens.length);
      assert.ok((found?.["records"] ?? 0) >= acknowledged.records);
      assert.ok((found?.["live"] ?? 0) > 0, "nothing was live when the backup was made");

      const restored = await startServerOn(postgres.url, dataDir);
      processes.push(restored);
      const credentials = JSON.parse(await readFile(path.join(dataDir, "credentials.json"), "utf8"));
      // Those of the old world are known here too, as their digests are in the database.
      const call = createCaller(site.credentials.api_key);
      const agent = describeProcess({
        name: "restored agent",
        main: "agent/src/main.ts",
        readyWhen: /agent started/,
        env: {
          KEELSON_URL: restored.url,
          KEELSON_ENROLLMENT_TOKEN: credentials.enrollment_token,
          KEELSON_AGENT_NAME: "restored",
          KEELSON_AGENT_CAPACITY: "16",
          KEELSON_DATA_DIR: path.join(dir, "restored-agent"),
        },
      });
      processes.push(agent);
      await agent.start();
      await until("all runs have ended", WAIT_MS, async () => {
        const [row] = await db.query<{ count: number }>(sql`SELECT count(*) AS count FROM executions`);
        return row?.count === 0;
      });
      const outcomes = await db.query<{ status: string }>(sql`SELECT DISTINCT status FROM run_results`);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["succeeded"],
      );
      await sumsHold(db);
      // What is in workspaces is what a version names, and is read by its digest.
      const files = await call(restored.url, "GET", `/api/workspaces/${workspaceId}/files`, {});
      assert.deepEqual([files.body.files.length, await readFileOf(restored.url)], [10, String(FILE)]);
      const session = await call(restored.url, "POST", `/api/sessions/${sessionId}/inputs/input`, {
        body: { data: "again" },
      });
      assert.equal(session.status, 201, JSON.stringify(session.body));
      await until("the session takes its next turn", WAIT_MS, async () => {
        const { body } = await call(restored.url, "GET", `/api/sessions/${sessionId}/runs`);
        return body.runs.length === 2 && body.runs[0].status === "succeeded";
      });
      console.log(
        `seed ${seed} · ${acknowledged.runs.length} starts, ${acknowledged.tokens.length} completions, ${acknowledged.records} records before the backup; ` +
          `${found?.["live"]} runs live in it, ${heldRuns} of them held`,
      );
    } finally {
      await Promise.all(processes.map((running) => running.end()));
      await db.close();
      await postgres.stop();
    }
  });

  test("is refused by name when one bit of it was flipped", async () => {
    const whole = await readFile(file);
    const random = seededRandom(seed);
    const damaged = path.join(dir, "damaged.tar");
    const dataDir = await emptyFolder("for-damaged", true);
    const name = Buffer.from("tables/runs/000001.copy.zst");
    const inPart = whole.indexOf(name) + 512 + 100;
    const places = [
      inPart,
      ...Array.from({ length: FLIPS }, () => Math.floor(random() * whole.length)),
      whole.length - 1,
    ];
    for (const at of places) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
      await writeFile(damaged, bytes);
      const expected =
        at === inPart ? /damaged: tables\/runs\/000001\.copy\.zst has another digest/ : /damaged\.tar/;
      await assert.rejects(restore(damaged, dataDir), (error: Error) => {
        assert.ok(error instanceof DamagedBackupError, `byte ${at} of ${whole.length}: ${error.stack}`);
        assert.match(error.message, expected);
        return true;
      });
    }
    await writeFile(damaged, whole.subarray(0, whole.length - 2000));
    await assert.rejects(restore(damaged, dataDir), DamagedBackupError);
    // A refusal leaves the folder as it was.
    assert.deepEqual(await readdir(dataDir), ["master.key"]);
  });

  test("is restored into an empty place alone, and with the key it belongs to", async () => {
    const used = await emptyFolder("used", true);
    await writeFile(path.join(used, "something"), "");
    await assert.rejects(restore(file, used), NotEmptyError);
    const keyless = await emptyFolder("keyless", false);
    await assert.rejects(
      restore(file, keyless),
      /holds no master key \(fingerprint [0-9a-f]{16}\).*KEELSON_MASTER_KEY/,
    );
    await writeFile(path.join(keyless, "master.key"), Buffer.alloc(32, 1).toString("base64"));
    await assert.rejects(restore(file, keyless), /belongs to another master key/);
    await assert.rejects(
      restore(file, await emptyFolder("in-use", true), site.postgres.url),
      /The database is in use\. Restore into an empty one/,
    );
    const checked = await restore(file, path.join(dir, "absent"), undefined, true);
    assert.equal(checked.manifest.tables.find(({ name }) => name === "environments")?.rows, 2);
  });

  test("a backup with its keys brings them, into a database of one's own", async () => {
    const archive = path.join(dir, "with-keys.tar");
    await backUp(archive, true);
    await assert.rejects(backUp(archive, true), /is there already/);
    await assert.rejects(backUp(path.join(dir, "absent", "a.tar"), true), /no folder .*absent\. Create it/);
    await site.db.query(rawSql("CREATE DATABASE restored"));
    const url = site.postgres.url.replace(/\/keelson\?/, "/restored?");
    const dataDir = await emptyFolder("external", false);
    await restore(archive, dataDir, url);
    assert.deepEqual((await readdir(dataDir)).toSorted(), [
      "blobs",
      "credentials.json",
      "master.key",
      "workspaces",
    ]);
    const db = createDatabase({ url, poolSize: 1, statementNames: false });
    try {
      await checkInvariants(db, "in a database of one's own");
    } finally {
      await db.close();
    }
    await assert.rejects(restore(archive, await emptyFolder("again", false), url), NotEmptyError);
    // What a failed restore leaves behind is told from an installation.
    await writeFile(path.join(dataDir, "restore-unfinished"), "");
    await assert.rejects(restore(archive, dataDir, url), /did not finish/);
    const config = { ...configOf(dataDir, url), databaseUrl: url };
    await assert.rejects(startServer(config), /A restore into .* did not finish/);
  });
});

const uuids = (prefix: "run" | "tok", ids: readonly string[]): string[] =>
  ids.map((id) => decodeId(prefix, id) as string);
