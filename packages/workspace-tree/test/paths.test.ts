import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { checkPath, comparePaths, TreeError } from "@keelson/workspace-tree";
import { newSeed } from "../../server/test/support/seeded-random.ts";

fc.configureGlobal({ seed: newSeed() });

describe("paths", () => {
  for (const path of [
    "/etc/passwd",
    "..",
    "a/../b",
    "a/..",
    ".",
    "a/./b",
    "a//b",
    "a/",
    "/",
    "a\0b",
    "\ud800",
    "n".repeat(256),
    "é".repeat(128),
    "a/".repeat(2100) + "a",
  ]) {
    test(`${JSON.stringify(path.slice(0, 20))} of ${path.length} characters is refused`, () => {
      assert.throws(
        () => checkPath(path),
        (error) => error instanceof TreeError && error.code === "invalid_path",
      );
    });
  }

  for (const path of [
    "",
    "a",
    "a/b",
    "..a",
    "a..",
    "...",
    " ",
    "a\nb",
    "é".repeat(127),
    "n".repeat(255),
    "😀/x",
    "\\",
  ])
    test(`${JSON.stringify(path.slice(0, 20))} is taken`, () => checkPath(path));

  test("are in the order of a walk whose names are sorted by their bytes", () => {
    const segment = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 4 })
      .filter((s) => !/[/\0]/.test(s));
    const path = fc.array(segment, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(path, path, (a, b) => {
        let expected = 0;
        for (let i = 0; expected === 0 && (i < a.length || i < b.length); i += 1)
          expected = Buffer.compare(Buffer.from(a[i] ?? ""), Buffer.from(b[i] ?? ""));
        assert.equal(Math.sign(comparePaths(a.join("/"), b.join("/"))), expected);
      }),
    );
    assert.ok(comparePaths("\uffff", "😀") < 0);
  });
});
