// `npm run verify`: everything that must hold before a change is taken in, the quickest first.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { nodeFlags } from "./run.mjs";
import { ensureSetUp, root } from "./setup.mjs";

const node = ensureSetUp();
const tool = (name) => path.join(root, "node_modules", ".bin", name);

const steps = [
  ["Format (oxfmt)", tool("oxfmt"), ["--check", "."]],
  ["Lint (oxlint)", tool("oxlint"), ["--deny-warnings"]],
  ["Types (tsc)", tool("tsc"), ["-b"]],
  ["Unused code and dependencies (knip)", tool("knip"), []],
];
if (existsSync(path.join(root, "scripts/generate.ts"))) {
  steps.push(["Generated files are current", node, [...nodeFlags, "scripts/generate.ts", "--check"]]);
}
steps.push(["Tests", node, [path.join(root, "scripts/test.mjs")]]);

// The tools' first line says `env node`: they run on the same Node as Keelson.
const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ""}` };
for (const [heading, command, args] of steps) {
  process.stdout.write(`\n── ${heading} ${"─".repeat(Math.max(0, 70 - heading.length))}\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", env });
  if (error) process.stderr.write(`${error.message}\n`);
  if (status !== 0) {
    process.stderr.write(`\n${heading}: failed\n`);
    process.exit(1);
  }
}
