// Runs the tests of all packages on one PostgreSQL, which lives as long as they run. A file that fails is run once more at
// the end, alone and with more patience: what fails then is a failure, what passes is said to be unsteady.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { closeInheritedDescriptors } from "../packages/agent/src/inherited-descriptors.ts";
import { startTestServer } from "../packages/server/test/support/test-server.ts";
import { openRunFolders } from "./testing/file-folders.ts";
import { runTwice } from "./testing/run-twice.ts";
import { ROOT, selectFiles, takeShard } from "./testing/select-files.ts";
import { describeOutcome, describeResult, type Outcome } from "./testing/summary.ts";
import { seedOfCommit, testEnvironment } from "./testing/test-environment.ts";

const USAGE = `npm test -- [options] [part of a path …]

  --test-name-pattern=<regular expression>   only tests of such names
  --shard=<number>/<of>                      one part of the files: all parts together are the suite
  --strict                                   no second chance for a file that fails
  --record                                   keep how long each file took, for the order of later runs`;

/** Past this many the machine is no excuse. */
const MAX_UNSTEADY = 5;
/** PostgreSQL takes 400 connections, of which each file may need tens. */
const MAX_FILES_AT_ONCE = 8;
const OUTPUT = path.join(ROOT, "test-output");

// As an agent does at its start: what a shell left open would reach the workspaces of the agents that tests start.
closeInheritedDescriptors();
process.umask(0o022);

const { values, positionals } = readArguments();
const files = takeShard(selectFiles(positionals), readShard(values.shard));
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
const seed = Number(process.env["KEELSON_TEST_SEED"] ?? seedOfCommit());
await rm(OUTPUT, { recursive: true, force: true });
await mkdir(OUTPUT, { recursive: true });

const folders = await openRunFolders();
const server = await startTestServer();
let outcome: Outcome;
try {
  outcome = await run(server.url);
} finally {
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
        shard: { type: "string", default: "1/1" },
        "test-name-pattern": { type: "string", multiple: true, default: [] },
      },
    });
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

/** `2/3` is the second of three parts. */
function readShard(text: string): { number: number; of: number } {
  const [number = 0, of = 0] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).slice(1).map(Number);
  if (number >= 1 && number <= of) return { number, of };
  console.error(`--shard=${text} is no part: --shard=2/3 is the second of three.\n\n${USAGE}`);
  return process.exit(2);
}

async function run(databaseUrl: string): Promise<Outcome> {
  const cores = availableParallelism();
  const result = await runTwice(files, {
    room: {
      files: Math.min(MAX_FILES_AT_ONCE, Math.max(2, cores)),
      heavy: Math.max(1, Math.floor(cores / 2)),
    },
    env: testEnvironment({ KEELSON_TEST_DATABASE_URL: databaseUrl, KEELSON_TEST_SEED: String(seed) }),
    logs: OUTPUT,
    namePatterns: values["test-name-pattern"],
    isStrict: values.strict,
    signal: interrupted.signal,
    openFolders: (n) => folders.open(n),
    onAgain: ({ path }) => console.log(`Once more, alone: ${path}`),
    onResult: (file) => console.log(describeResult(file)),
  });
  return { ...result, seed, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Writes the report, and the durations when it was asked for. */
async function keep({ red, unsteady, results }: Outcome): Promise<void> {
  const report = {
    seed,
    red: red.map(({ file, failures }) => ({ file: file.path, failures })),
    unsteady: unsteady.map(({ file, failures }) => ({ file: file.path, failures })),
    files: results.map(({ file, passed, skips, seconds, left }) => ({
      file: file.path,
      ...{ passed, skips, seconds, left },
    })),
  };
  await writeFile(path.join(OUTPUT, "report.json"), JSON.stringify(report, null, 2));
  if (!values.record) return;
  const durations = results
    .toSorted((a, b) => a.file.path.localeCompare(b.file.path))
    .map(({ file, seconds }) => [file.path, Math.round(seconds * 10) / 10] as const);
  await writeFile(
    path.join(ROOT, "scripts/testing/durations.json"),
    `${JSON.stringify(Object.fromEntries(durations), null, 2)}\n`,
  );
}
