// Runs a TypeScript file of this repository on Node 24: `node scripts/run.mjs <file.ts> [arguments]`.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ensureSetUp, root } from "./setup.mjs";

/** Flags by which Node runs the sources: our packages resolve to `src`, stack traces name the sources' lines. */
export const nodeFlags = [
  "--conditions=@keelson/source",
  "--enable-source-maps",
  "--disable-warning=ExperimentalWarning",
];

/** Runs the file in the current folder and ends this process as it ends. */
export function runTypeScript(file, args) {
  const node = ensureSetUp();
  passThrough(spawn(node, [...nodeFlags, path.resolve(root, file), ...args], { stdio: "inherit" }));
}

function passThrough(child) {
  // Ctrl-C in a terminal reaches the child by itself; passed on as well, it would count as a second one.
  const sentByTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : [];
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"]) {
    process.on(signal, () => {
      if (!sentByTerminal.includes(signal)) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    // 128 + the signal's number is how a shell tells of a death by signal.
    process.exit(code ?? 128 + constants.signals[signal]);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) {
    process.stderr.write("Usage: node scripts/run.mjs <file.ts> [arguments]\n");
    process.exit(2);
  }
  runTypeScript(path.resolve(file), args);
}
