// Finds a Node that Keelson runs on. Plain JavaScript without dependencies: it runs on the Node that the machine has.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const OLDEST_NODE = [24, 11];

export function isAtLeast(version, [major, minor]) {
  const [foundMajor = 0, foundMinor = 0] = version.split(".").map(Number);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/** The package that has a Node for this machine; npm installs it on Linux. */
export const nodePackage = `node-${process.platform}-${process.arch}`;

/** Whether this process itself runs on a Node that is new enough. */
export const isNewEnough = () => isAtLeast(process.versions.node, OLDEST_NODE);

/** The installed Node at `own` if it runs here, else this process's own if it is new enough. Throws an Error without any. */
export function findNode(own) {
  if (own !== null && existsSync(own)) {
    // It needs glibc, which Alpine for instance has not.
    const { status, stdout } = spawnSync(own, ["--version"], { encoding: "utf8" });
    if (status === 0 && isAtLeast(stdout.trim().slice(1), OLDEST_NODE)) return own;
  }
  if (isNewEnough()) return process.execPath;
  throw new Error(
    `Keelson runs on Node ${OLDEST_NODE.join(".")} or later; this is Node ${process.versions.node}, and none is bundled for ${process.platform}-${process.arch}. ` +
      "Get one from https://nodejs.org and start again.",
  );
}
