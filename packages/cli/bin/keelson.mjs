#!/usr/bin/env node
// The command as it is installed. It runs on Node 20 too, and there starts the Node 24 that was installed with it.

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findNode, isNewEnough, nodePackage } from "./find-node.mjs";
import { runNode } from "./run-node.mjs";
import { watchNpm } from "./watch-npm.mjs";

const main = new URL("../dist/main.js", import.meta.url);

/** npm may have put the package beside this one, or above. */
function findOwnNode() {
  try {
    const file = createRequire(import.meta.url).resolve(`${nodePackage}/package.json`);
    return path.join(path.dirname(file), "bin", "node");
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    return null;
  }
}

if (isNewEnough()) {
  process.setSourceMapsEnabled(true);
  watchNpm(() => process.kill(process.pid, "SIGTERM"));
  await import(main.href);
} else {
  try {
    runNode(findNode(findOwnNode()), ["--enable-source-maps", fileURLToPath(main), ...process.argv.slice(2)]);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
