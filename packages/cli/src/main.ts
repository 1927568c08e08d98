#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// A command takes 0.1 s of CPU instead of 0.33 s when its compiled code is kept. In the account's own folder: what
// lies in a shared one could be another's. Loaded after that, hence the dynamic imports.
enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keelson", "compiled"));
const { EXIT, interruption } = await import("./exit-codes.ts");
const { runCommandLine } = await import("./program.ts");

const controller = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    // The first asks the command to end, the second does not ask.
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort(interruption(name));
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
