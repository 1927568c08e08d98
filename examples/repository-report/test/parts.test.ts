import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOfPart, planParts } from "../src/plan-parts.ts";
import { isInPart, parseTrackedFile } from "../src/tracked-files.ts";

const filesIn = (directory: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${directory}/file-${i}.ts`);

const plans: Record<string, { paths: string[]; parts: [name: string, files: number][] }> = {
  nothing: { paths: [], parts: [] },
  "files at the top": { paths: ["a", "b"], parts: [["files at the top", 2]] },
  "small folders": {
    paths: ["README.md", "src/a.ts", "src/deep/b.ts", "test/c.ts"],
    parts: [
      ["files at the top", 1],
      ["src", 2],
      ["test", 1],
    ],
  },
  "a large folder, cut along the folders in it": {
    paths: [...filesIn("big", 10), ...filesIn("big/a", 50), ...filesIn("big/b", 60), "small/x"],
    parts: [
      ["big/*", 10],
      ["big/a", 50],
      ["big/b", 60],
      ["small", 1],
    ],
  },
  "one folder in another": {
    paths: [...filesIn("only/one/left", 70), ...filesIn("only/one/right", 5)],
    parts: [
      ["only/one/left/*", 70],
      ["only/one/right", 5],
    ],
  },
};

for (const [what, { paths, parts }] of Object.entries(plans)) {
  test(`a repository is cut into parts: ${what}`, () => {
    assert.deepEqual(
      planParts(paths).map((part) => [nameOfPart(part), part.files]),
      parts,
    );
  });
}

test("every file is in exactly one part, and there are never too many parts", () => {
  const paths = Array.from({ length: 5_000 }, (_, i) => `d${i % 5}/e${i % 11}/f${i % 13}/file-${i}`);
  const parts = planParts(paths);
  assert.ok(parts.length > 15 && parts.length <= 32, `${parts.length} parts`);
  for (const path of paths) assert.equal(parts.filter((part) => isInPart(path, part)).length, 1, path);
  assert.equal(
    parts.reduce((sum, { files }) => sum + files, 0),
    paths.length,
  );
  const flat = planParts(Array.from({ length: 600 }, (_, i) => `folder-${i}/file`));
  assert.deepEqual(flat, [{ directory: ".", recursive: true, files: 600 }]);
});

test("a part holds its own files only, not those of a folder whose name begins alike", () => {
  for (const [path, directory, recursive, isIn] of [
    ["src/a.ts", "src", true, true],
    ["src/deep/a.ts", "src", true, true],
    ["src/deep/a.ts", "src", false, false],
    ["src-old/a.ts", "src", true, false],
    ["a.ts", ".", false, true],
    ["src/a.ts", ".", false, false],
    ["src/a.ts", ".", true, true],
  ] as const) {
    assert.equal(isInPart(path, { directory, recursive }), isIn, `${path} in ${directory}`);
  }
});

test("of what git tracks, regular files are read: no links, submodules, or files that are not checked out", () => {
  const object = "587be6b4c3f93f93c489c0111bba5596147a26cb";
  for (const [record, path] of [
    [`H 100644 ${object} 0\tsrc/a b\nc.ts`, "src/a b\nc.ts"],
    [`H 100755 ${object} 0\trun\ttab.sh`, "run\ttab.sh"],
    [`M 100644 ${object} 2\tconflict`, "conflict"],
    [`H 120000 ${object} 0\tlink`, null],
    [`H 160000 ${object} 0\tsubmodule`, null],
    [`S 100644 ${object} 0\tsparse`, null],
    [`H 100644 ${object} 0\tnot-\uFFFD-utf-8`, null],
    ["", null],
  ] as const) {
    assert.equal(parseTrackedFile(record), path, record);
  }
});
