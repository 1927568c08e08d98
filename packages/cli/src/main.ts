#!/usr/bin/env node
import { EXIT, interruption } from "./exit-codes.ts";
import { runCommandLine } from "./program.ts";

const controller = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    // The first asks the command to end, the second does not ask.
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort(interruption());
  });
}

// A reader that has seen enough (`keelson run list | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  throw error;
});

const exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: controller.signal,
});

// Kept connections would hold the process; what was written must have left first.
process.exitCode = exitCode;
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));
