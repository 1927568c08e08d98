import { spawnSync } from "node:child_process";
import path from "node:path";
import { root } from "./staging.ts";

/**
 * Compiles the packages and builds the console. What the tools say goes to stderr.
 *
 * @param isChecked whether the compiler checks all types, too: two thirds of what it takes
 */
export function buildAll(isChecked: boolean): void {
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  for (const args of [
    [tsc, "-b", "packages/cli", ...(isChecked ? [] : ["--noCheck"])],
    ["scripts/console.mjs"],
  ]) {
    const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] });
    if (error || status !== 0)
      throw new Error(`${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
  }
}
