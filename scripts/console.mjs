// Builds the console when its sources changed since the last build. Plain JavaScript without dependencies: it runs before
// everything else, on the Node that the machine has.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ensureSetUp, root } from "./setup.mjs";

const folder = path.join(root, "packages/console");
const stamp = path.join(folder, "dist/.built-from");
/** What a build is made from. Of the packages that the console imports, the sources. */
const SOURCES = [
  "package-lock.json",
  "packages/console/index.html",
  "packages/console/vite.config.ts",
  "packages/console/public",
  "packages/console/src",
  "packages/contract/src",
  "packages/sdk/src",
];

/** Names and contents of all of them; times say nothing after a checkout. About 10 ms. */
function digestSources() {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    const at = path.join(root, source);
    const isFile = path.extname(source) !== "";
    const files = isFile
      ? [at]
      : readdirSync(at, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => path.join(entry.parentPath, entry.name))
          .sort();
    for (const file of files) hash.update(`${path.relative(root, file)}\0`).update(readFileSync(file));
  }
  return hash.digest("hex");
}

/** Ends the process when the build fails: an old console would not fit the server. */
export function ensureConsole(node) {
  const digest = digestSources();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  process.stderr.write("Building the console (only the first time or after it changed) …\n");
  const vite = path.join(root, "node_modules/vite/bin/vite.js");
  const { status, error } = spawnSync(node, [vite, "build", "--logLevel", "warn"], {
    cwd: folder,
    // To stderr: stdout is for what the command itself says.
    stdio: ["ignore", 2, 2],
  });
  if (error || status !== 0) {
    process.stderr.write(`The console could not be built${error ? `: ${error.message}` : ""}.\n`);
    process.exit(1);
  }
  writeFileSync(stamp, digest);
}

// Also a command: `node scripts/console.mjs`.
if (process.argv[1] === fileURLToPath(import.meta.url)) ensureConsole(ensureSetUp());
