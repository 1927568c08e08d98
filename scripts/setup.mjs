// Makes a checkout runnable: dependencies installed, Node 24 found. Plain JavaScript without dependencies, because it runs
// on the Node that the machine has (20 or later), before anything is installed.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, isAtLeast, nodePackage } from "../packages/cli/bin/find-node.mjs";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const OLDEST_NODE_FOR_SCRIPTS = [20, 0];

/** Installs what is missing and returns the path of the Node to run Keelson with. Ends the process when it cannot. */
export function ensureSetUp() {
  if (!isAtLeast(process.versions.node, OLDEST_NODE_FOR_SCRIPTS)) {
    fail(
      `Keelson needs Node 20 or later to set itself up; this is Node ${process.versions.node}. Get one from https://nodejs.org.`,
    );
  }
  if (!isInstalled()) install();
  try {
    // Brought by the lock file for Linux.
    return findNode(path.join(root, "node_modules", nodePackage, "bin", "node"));
  } catch (error) {
    return fail(error.message);
  }
}

/**
 * Whether node_modules holds what the lock file says. npm writes a copy of the lock of what it installed, at the end, so
 * an interrupted installation has none. The contents are compared: the times of files say nothing after a checkout.
 */
function isInstalled() {
  const installed = readPackages("node_modules/.package-lock.json");
  if (installed === null) return false;
  const locked = readPackages("package-lock.json") ?? {};
  for (const [name, { version, optional, devOptional, link }] of Object.entries(locked)) {
    if (!name.includes("node_modules/")) continue;
    const found = installed[name];
    // Builds for other platforms are not installed.
    if (found === undefined ? !(optional || devOptional) : !link && found.version !== version) return false;
  }
  return Object.keys(installed).every((name) => name in locked);
}

function readPackages(file) {
  const full = path.join(root, file);
  return existsSync(full) ? JSON.parse(readFileSync(full, "utf8")).packages : null;
}

function install() {
  process.stderr.write(
    "Installing the dependencies of the lock file (npm ci; only the first time or after it changed) …\n",
  );
  const startedAt = performance.now();
  const npm = process.env.npm_execpath;
  // To stderr: stdout is for what the command itself says.
  const options = { cwd: root, stdio: ["ignore", 2, 2] };
  const result = npm
    ? spawnSync(process.execPath, [npm, "ci", "--loglevel=error"], options)
    : spawnSync("npm", ["ci", "--loglevel=error"], options);
  if (result.error) fail(`npm cannot be run: ${result.error.message}`);
  if (result.signal) fail("The installation was interrupted; start again.");
  if (result.status !== 0) fail("The installation failed; what npm said is above.");
  process.stderr.write(`Installed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s.\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

// Also a command: `node scripts/setup.mjs` prints the Node it found.
if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(`${ensureSetUp()}\n`);
