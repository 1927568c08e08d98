// Runs a TypeScript file of this repository on Node 24: `node scripts/run.mjs <file.ts> [arguments]`.

import path from "node:path";
import { fileURLToPath } from "node:url";
import { runNode } from "../packages/cli/bin/run-node.mjs";
import { ensureSetUp, root } from "./setup.mjs";

/** Flags by which Node runs the sources: our packages resolve to `src`, stack traces name the sources' lines. */
export const nodeFlags = [
  "--conditions=@keelson/source",
  "--enable-source-maps",
  "--disable-warning=ExperimentalWarning",
];

/** Runs the file in the current folder and ends this process as it ends. */
export function runTypeScript(file, args) {
  runNode(ensureSetUp(), [...nodeFlags, path.resolve(root, file), ...args]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) {
    process.stderr.write("Usage: node scripts/run.mjs <file.ts> [arguments]\n");
    process.exit(2);
  }
  runTypeScript(path.resolve(file), args);
}
