// Runs the tests of all packages on one PostgreSQL, which lives as long as they run.
//
// Arguments that begin with `-` go to `node --test`; each other one is a part of the paths of the files to run.

import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { startTestServer } from "../packages/server/test/support/test-server.ts";

const root = path.resolve(import.meta.dirname, "..");
const PATTERNS = [
  "packages/*/test/**/*.test.ts",
  "packages/*/src/**/*.test.ts",
  "examples/*/test/**/*.test.ts",
  "examples/*/src/**/*.test.ts",
  "bench/test/**/*.test.ts",
  "scripts/**/*.test.ts",
];
// A test that hangs is a failure, not a suite without an end.
const TEST_TIMEOUT_MS = 600_000;

const options = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const parts = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));

const files = globSync(PATTERNS, { cwd: root, exclude: (name) => path.basename(name) === "node_modules" })
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .toSorted();
if (files.length === 0) {
  console.error(
    parts.length === 0 ? "There are no tests." : `No test file has ${parts.join(" or ")} in its path.`,
  );
  process.exit(1);
}

// Registered before the server starts: a Ctrl-C must never leave it running. The test runner hears the same signal from
// the terminal, or gets it from here, and ends by itself.
let interrupted: NodeJS.Signals | undefined;
let tests: ReturnType<typeof spawn> | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    interrupted = signal;
    tests?.kill(signal);
  });
}

const server = await startTestServer();
let exitCode = 1;
try {
  if (interrupted === undefined) {
    // The flags this process was started with are those by which Node runs our sources.
    const flags = [
      ...process.execArgv,
      "--test",
      `--test-concurrency=${Math.max(2, availableParallelism())}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      ...options,
    ];
    tests = spawn(process.execPath, [...flags, ...files], {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, KEELSON_TEST_DATABASE_URL: server.url },
    });
    const running = tests;
    exitCode = await new Promise<number>((resolve, reject) => {
      running.once("error", reject);
      running.once("exit", (code) => resolve(code ?? 1));
    });
  }
} finally {
  await server.stop();
}
process.exit(interrupted === undefined ? exitCode : 130);
