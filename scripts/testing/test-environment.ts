// What reaches a test of the environment in which the suite was started: nothing that a test does not need.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { ROOT } from "./select-files.ts";

const KEPT = [
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|CI)$/,
  /^KEELSON_TEST_/,
  // How npm reaches its registry.
  /^npm_config_|^npm_execpath$/i,
  /_proxy$|_CERTS?(_|$)|_CA_|CAINFO$/i,
];

export function testEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && KEPT.some((pattern) => pattern.test(entry[0])),
  );
  return {
    ...Object.fromEntries(kept),
    ...{ TZ: "UTC", LANG: "C.UTF-8" },
    // Each process of a test compiles the same sources.
    NODE_COMPILE_CACHE: path.join(ROOT, "node_modules/.cache/tests"),
    ...own,
  };
}

/** Where no commit is known: a folder without its history. */
const SEED_WITHOUT_COMMIT = 20_261_121;

/** One seed a commit: what was drawn for a commit is drawn for it again. */
export function seedOfCommit(): number {
  try {
    const args = ["-c", "safe.directory=*", "rev-parse", "HEAD"];
    const head = execFileSync("git", args, {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return Number.parseInt(head.slice(0, 7), 16);
  } catch {
    return SEED_WITHOUT_COMMIT;
  }
}
