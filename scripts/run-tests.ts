// Runs the tests of all packages on one PostgreSQL, which lives as long as they run. A file that fails is run once more at
// the end, alone and with more patience: what fails then is a failure, what passes is said to be unsteady.

import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { closeInheritedDescriptors } from "../packages/agent/src/inherited-descriptors.ts";
import { shareChromium } from "../packages/sdk/test/support/share-chromium.ts";
import { startTestServer } from "../packages/server/test/support/test-server.ts";
import { bundlePrograms } from "./testing/bundle-programs.ts";
import { findConnected } from "./testing/connected-files.ts";
import { describeLongRun } from "./testing/long-report.ts";
import { openRunFolders } from "./testing/file-folders.ts";
import { runTwice } from "./testing/run-twice.ts";
import { hasLongForm, ROOT, selectFiles, takeShard, type TestFile } from "./testing/select-files.ts";
import { describeOutcome, describeResult, type Outcome } from "./testing/summary.ts";
import { seedOfCommit, testEnvironment } from "./testing/test-environment.ts";

const USAGE = `npm test -- [options] [part of a path …]

  --test-name-pattern=<regular expression>   only tests of such names
  --changed                                  files that what differs from main can break
  --shard=<number>/<of>                      one part of the files: all parts together are the suite
  --long                                     the long form of the tests that have one, one file at a time
  --strict                                   no second chance for a file that fails
  --record                                   keep how long each file took, for the order of later runs`;

/** Past this many the machine is no excuse. */
const MAX_UNSTEADY = 5;
/** PostgreSQL takes 400 connections, of which each file may need tens. */
const MAX_FILES_AT_ONCE = 8;
/** Of a file of the long form, and of one of its tests. */
const LONG_LIMIT_MS = 3 * 3_600_000;
/** Many files wait most of the time, for a lease to end or a caller to be too slow: with three, the longest kept 40 % idle. */
const FILES_PER_CORE = 4;
const OUTPUT = path.join(ROOT, "test-output");

// As an agent does at its start: what a shell left open would reach the workspaces of the agents that tests start.
closeInheritedDescriptors();
process.umask(0o022);

const { values, positionals } = readArguments();
const files = takeShard(chooseFiles(), readShard(values.shard));
if (files.length === 0) {
  console.error(
    positionals.length === 0
      ? "There are no tests."
      : `No test file has ${positionals.join(" or ")} in its path.`,
  );
  process.exit(1);
}

// Registered before the server starts: a Ctrl-C must never leave it running.
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => interrupted.abort(new Error(`interrupted by ${signal}`)));

const startedAt = performance.now();
const seed = Number(process.env["KEELSON_TEST_SEED"] ?? (values.long ? randomInt(2 ** 31) : seedOfCommit()));
if (values.long) console.log(`KEELSON_TEST_SEED=${seed}`);
await rm(OUTPUT, { recursive: true, force: true });
await mkdir(OUTPUT, { recursive: true });

const folders = await openRunFolders();
const server = await startTestServer();
const chromium = await shareChromium(testEnvironment({}));
let outcome: Outcome;
try {
  outcome = await run(server.url, chromium.url);
} finally {
  await chromium.close();
  await server.stop();
  await folders.close();
}
if (interrupted.signal.aborted) process.exit(130);
await keep(outcome);
console.log(describeOutcome(outcome));
process.exit(outcome.red.length === 0 && outcome.unsteady.length <= MAX_UNSTEADY ? 0 : 1);

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        strict: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
        long: { type: "boolean", default: false },
        changed: { type: "boolean", default: false },
        shard: { type: "string", default: "1/1" },
        "test-name-pattern": { type: "string", multiple: true, default: [] },
      },
    });
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

function chooseFiles(): TestFile[] {
  const selected = selectFiles(positionals).filter((file) => !values.long || hasLongForm(file));
  if (!values.changed) return selected;
  const paths = selected.map(({ path }) => path);
  const connected = new Set(findConnected(ROOT, "main", paths));
  console.log(`${connected.size} of ${selected.length} files are connected with what differs from main.`);
  return selected.filter(({ path }) => connected.has(path));
}

/** `2/3` is the second of three parts. */
function readShard(text: string): { number: number; of: number } {
  const [number = 0, of = 0] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).slice(1).map(Number);
  if (number >= 1 && number <= of) return { number, of };
  console.error(`--shard=${text} is no part: --shard=2/3 is the second of three.\n\n${USAGE}`);
  return process.exit(2);
}

async function run(databaseUrl: string, chromiumUrl: string): Promise<Outcome> {
  const cores = availableParallelism();
  const result = await runTwice(files, {
    ...(values.long && { shortestLimitMs: LONG_LIMIT_MS, testLimitMs: LONG_LIMIT_MS }),
    room: values.long
      ? { least: 1, most: 1 }
      : { least: cores, most: Math.min(MAX_FILES_AT_ONCE, FILES_PER_CORE * cores) },
    env: testEnvironment({
      KEELSON_TEST_DATABASE_URL: databaseUrl,
      KEELSON_TEST_CHROMIUM: chromiumUrl,
      KEELSON_TEST_SEED: String(seed),
      KEELSON_TEST_PROGRAMS: await bundlePrograms(),
      KEELSON_TEST_DOCUMENT: path.join(folders.common, "openapi.json"),
      KEELSON_TEST_CLUSTER: path.join(folders.common, "cluster"),
      ...(values.long && { KEELSON_TEST_LONG: "1" }),
    }),
    logs: OUTPUT,
    namePatterns: values["test-name-pattern"],
    isStrict: values.strict || values.long,
    signal: interrupted.signal,
    openFolders: (n) => folders.open(n),
    onAgain: ({ path }) => console.log(`Once more, alone: ${path}`),
    onResult: (file) => console.log(describeResult(file)),
  });
  return { ...result, seed, seconds: (performance.now() - startedAt) / 1_000 };
}

async function keepLongRun(outcome: Outcome): Promise<void> {
  const page = path.join(ROOT, "docs/long-suite.md");
  const before = existsSync(page) ? await readFile(page, "utf8") : "";
  const exists = (file: string): boolean => existsSync(path.join(ROOT, file));
  await writeFile(page, describeLongRun(before, outcome, new Date(), exists));
}

/** Writes the report, and what else was asked for. */
async function keep(outcome: Outcome): Promise<void> {
  const { red, unsteady, results } = outcome;
  const report = {
    seed,
    red: red.map(({ file, failures }) => ({ file: file.path, failures })),
    unsteady: unsteady.map(({ file, failures }) => ({ file: file.path, failures })),
    files: results.map(({ file, passed, skips, seconds, cpuSeconds, left }) => ({
      file: file.path,
      ...{ passed, skips, seconds, cpuSeconds, left },
    })),
  };
  await writeFile(path.join(OUTPUT, "report.json"), JSON.stringify(report, null, 2));
  if (values.long && values["test-name-pattern"].length === 0) await keepLongRun(outcome);
  if (!values.record) return;
  const durations = results
    .toSorted((a, b) => a.file.path.localeCompare(b.file.path))
    .map(({ file, seconds }) => [file.path, Math.round(seconds * 10) / 10]);
  await writeFile(
    path.join(ROOT, "scripts/testing/durations.json"),
    `${JSON.stringify(Object.fromEntries(durations), null, 2)}\n`,
  );
}
