import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { listWorkspaceFolders } from "../src/workspaces/workspace-folder.ts";
import { cleanUp } from "./support/clean-up.ts";

test("what an agent left of workspaces is found and removed by the next, however deep or read-only it is", async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "keelson-left-"));
  cleanUp(t, () => execFileSync("rm", ["-rf", parent]));
  const [deep, closed] = ["mat_deep-1", "mat_closed-2"].map((name) => join(parent, name, "files"));
  for (const folder of [deep, closed]) mkdirSync(folder as string, { recursive: true });
  // Three times as long as a path may be.
  const script = `
    const { mkdirSync, writeFileSync } = require("node:fs");
    const name = "node_modules_like_name";
    for (let i = 0; i < 600; i += 1) { writeFileSync("f", "x"); mkdirSync(name); process.chdir(name); }`;
  execFileSync(process.execPath, ["-e", script], { cwd: deep });
  // As Go leaves its modules.
  mkdirSync(join(closed as string, "mod/inner"), { recursive: true });
  writeFileSync(join(closed as string, "mod/inner/file"), "x", { mode: 0o400 });
  for (const name of ["mod/inner", "mod"]) chmodSync(join(closed as string, name), 0o500);
  const left = await listWorkspaceFolders(parent);
  assert.equal(left.length, 2);
  for (const { folder } of left) await folder.remove();
  assert.deepEqual(readdirSync(parent), []);
});
