// Runs another Node in place of this process. Plain JavaScript without dependencies, see find-node.mjs.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { watchNpm } from "./watch-npm.mjs";

/** How long a child may live on that has said with which code it ends: see `exit` in src/exit.ts. */
const EXIT_MS = 2_000;

/** Starts Node with these arguments in the current folder, and ends this process as it ends. */
export function runNode(node, args) {
  // Over the channel the child hears of our death.
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, args, { stdio });
  passThrough(child);
  watchNpm(() => child.kill("SIGTERM"));
}

function passThrough(child) {
  // What a terminal or a supervisor sends to the whole group reaches the child twice, which it takes for one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"])
    process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  let saidCode = null;
  child.on("message", (message) => {
    if (typeof message?.exitCode !== "number") return;
    saidCode = message.exitCode;
    setTimeout(() => child.kill("SIGKILL"), EXIT_MS);
  });
  child.on("exit", (code, signal) => {
    // 128 + the signal's number is how a shell tells of a death by signal.
    process.exit(code ?? saidCode ?? 128 + constants.signals[signal]);
  });
}
