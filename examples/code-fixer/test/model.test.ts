import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BROKEN_PROJECT } from "../src/broken-project.ts";
import { proposeEdits } from "../src/model.ts";

test("the project is broken twice, and the script knows both fixes and nothing else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-fixer-"));
  t.after(() => rm(folder, { recursive: true }));
  const files: Record<string, string> = { ...BROKEN_PROJECT.files };
  const runTests = async (): Promise<{ status: number | null; stdout: string }> => {
    for (const [path, content] of Object.entries(files)) await writeFile(join(folder, path), content);
    const [program = "", ...rest] = BROKEN_PROJECT.testCommand;
    return spawnSync(program, rest, { cwd: folder, encoding: "utf8" });
  };
  for (const failing of [2, 1]) {
    const { status, stdout } = await runTests();
    assert.equal(status, failing, stdout);
    const edits = await proposeEdits({ testOutput: stdout, files });
    assert.equal(edits.length, 1);
    for (const { path, content } of edits) files[path] = content;
  }
  const { status, stdout } = await runTests();
  assert.equal(status, 0, stdout);
  assert.deepEqual(await proposeEdits({ testOutput: stdout, files }), []);
  assert.deepEqual(await proposeEdits({ testOutput: "not ok - something else", files }), []);
});
