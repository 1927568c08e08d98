// Runs another Node in place of this process. Plain JavaScript without dependencies, see find-node.mjs.

import { spawn } from "node:child_process";
import { constants } from "node:os";

/** How often it is looked whether npm lives, which nothing tells of. */
const PARENT_CHECK_MS = 500;
/** How long a child may live on that has said with which code it ends: see `exit` in src/exit.ts. */
const EXIT_MS = 2_000;

/** Starts Node with these arguments in the current folder, and ends this process as it ends. */
export function runNode(node, args) {
  const parent = process.ppid;
  // Over the channel the child hears of our death.
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, args, { stdio });
  passThrough(child);
  // A shell may end and leave us running on purpose; npm ends before us only when it was killed.
  if (process.env.npm_lifecycle_event === undefined) return;
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    child.kill("SIGTERM");
  }, PARENT_CHECK_MS);
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
