// Runs the tests of all packages on one PostgreSQL, which lives as long as they run. A file that fails is run once more at
// the end, alone and with more patience: what fails then is a failure, what passes is said to be unsteady.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { closeInheritedDescriptors } from "../packages/agent/src/inherited-descriptors.ts";
import { startTestServer } from "../packages/server/test/support/test-server.ts";
import { runAll } from "./testing/run-all.ts";
import { runFile, type FileResult } from "./testing/run-file.ts";
import { ROOT, selectFiles, type TestFile } from "./testing/select-files.ts";
import { describeOutcome, describeResult, type Outcome } from "./testing/summary.ts";
import { seedOfCommit, testEnvironment } from "./testing/test-environment.ts";

const USAGE = `npm test -- [options] [part of a path …]

  --test-name-pattern=<regular expression>   only tests of such names
  --strict                                   no second chance for a file that fails
  --record                                   keep how long each file took, for the order of later runs`;

/** Past this many the machine is no excuse. */
const MAX_UNSTEADY = 5;
const MAX_SECOND_CHANCES = 20;
/** How much longer a test waits when its file has its second chance. */
const PATIENCE = 3;
/** PostgreSQL takes 400 connections, of which each file may need tens. */
const MAX_FILES_AT_ONCE = 8;
const OUTPUT = path.join(ROOT, "test-output");

// As an agent does at its start: what a shell left open would reach the workspaces of the agents that tests start.
closeInheritedDescriptors();
process.umask(0o022);

const { values, positionals } = readArguments();
const files = selectFiles(positionals);
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

const server = await startTestServer();
let outcome: Outcome;
try {
  outcome = await runTwice(server.url);
} finally {
  await server.stop();
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
        "test-name-pattern": { type: "string", multiple: true, default: [] },
      },
    });
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

async function runTwice(databaseUrl: string): Promise<Outcome> {
  const run = async (file: TestFile, patience: number): Promise<FileResult> => {
    const env = testEnvironment({
      KEELSON_TEST_DATABASE_URL: databaseUrl,
      KEELSON_TEST_SEED: String(seed),
      KEELSON_TEST_PATIENCE: String(patience),
    });
    const namePatterns = values["test-name-pattern"];
    const result = await runFile(file, {
      env,
      logs: OUTPUT,
      namePatterns,
      patience,
      signal: interrupted.signal,
    });
    if (!interrupted.signal.aborted) console.log(describeResult(result));
    return result;
  };
  const cores = availableParallelism();
  const room = {
    files: Math.min(MAX_FILES_AT_ONCE, Math.max(2, cores)),
    heavy: Math.max(1, Math.floor(cores / 2)),
  };
  const results = await runAll(files, room, (file) => run(file, 1));
  const failed = results.filter(({ failures }) => failures.length > 0);
  const mayAgain = values.strict || failed.length > MAX_SECOND_CHANCES ? [] : failed;
  const unsteady: FileResult[] = [];
  const counted = new Map(results.map((result) => [result.file, result]));
  for (const first of mayAgain) {
    if (first.file.isCertain || interrupted.signal.aborted) continue;
    console.log(`Once more, alone: ${first.file.path}`);
    const again = await run(first.file, PATIENCE);
    counted.set(first.file, again);
    if (again.failures.length === 0) unsteady.push(first);
  }
  const last = [...counted.values()];
  return {
    red: last.filter(({ failures }) => failures.length > 0),
    unsteady,
    results: last,
    seed,
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

/** Writes the report, and the durations when it was asked for. */
async function keep({ red, unsteady, results }: Outcome): Promise<void> {
  const report = {
    seed,
    red: red.map(({ file, failures }) => ({ file: file.path, failures })),
    unsteady: unsteady.map(({ file, failures }) => ({ file: file.path, failures })),
    files: results.map(({ file, passed, skips, seconds }) => ({ file: file.path, passed, skips, seconds })),
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
