#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// A command takes 0.1 s of CPU instead of 0.33 s when its compiled code is kept. In the account's own folder: what
// lies in a shared one could be another's. Loaded after that, hence the dynamic imports.
enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keelson", "compiled"));
const { exit } = await import("./exit.ts");
const { EXIT } = await import("./exit-codes.ts");
const { hearSignals } = await import("./hear-signals.ts");
const { runCommandLine } = await import("./program.ts");

const { stdin, stdout, stderr } = process;
const requests = hearSignals({
  source: process,
  isAtTerminal: () => [stdin, stdout, stderr].some((stream) => stream.isTTY),
  monotonic: () => performance.now(),
  leave: () => exit(EXIT.interrupted),
});

stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A closed terminal, or a log that nobody reads any more, is no reason to leave parts behind.
  if (requests.isInOrder()) return;
  // A reader that has seen enough (`keelson run list | head`) is no failure.
  if (error.code === "EPIPE") exit(EXIT.ok);
  throw error;
});
// Nobody is there to be told.
stderr.on("error", () => undefined);

const exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  ...{ stdin, stdout, stderr },
  signal: requests.signal,
  endInOrder: requests.endInOrder,
});

// Kept connections would hold the process; what was written must have left first.
process.exitCode = exitCode;
stdout.write("", () => stderr.write("", () => exit(exitCode)));
