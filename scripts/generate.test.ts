import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";

test("what is generated and committed is what the code says now", () => {
  const script = path.join(import.meta.dirname, "generate.ts");
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@keelson/source", script, "--check"],
    {
      encoding: "utf8",
    },
  );
  assert.equal(status, 0, stderr);
});
