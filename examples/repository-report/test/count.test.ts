import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { countFiles } from "../src/count-files.ts";
import { countLines } from "../src/count-lines.ts";
import { languageOf } from "../src/languages.ts";

const { signal } = new AbortController();

async function createFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "keelson-count-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("a file's name tells its language", () => {
  for (const [path, language] of [
    ["src/a.ts", "TypeScript"],
    ["src/A.TSX", "TypeScript"],
    ["a.d.ts", "TypeScript"],
    ["Makefile", "Make"],
    ["docker/Dockerfile", "Dockerfile"],
    ["package.json", "JSON"],
    ["package-lock.json", "Lock files"],
    ["LICENSE", "Text"],
    [".gitignore", "Other"],
    ["folder.ts/file", "Other"],
    ["constructor", "Other"],
    ["a.constructor", "Other"],
    ["a.", "Other"],
  ] as const) {
    assert.equal(languageOf(path), language, path);
  }
});

test("lines are counted with the last one, which may lack its line feed", async () => {
  await using folder = await createFolder();
  const path = join(folder.path, "file");
  for (const [content, lines] of [
    ["", 0],
    ["\n", 1],
    ["one", 1],
    ["one\n", 1],
    ["one\ntwo", 2],
    ["one\r\ntwo\r\n", 2],
    ["x".repeat(200_000), 1],
    ["x\n".repeat(100_000), 100_000],
    ["\u0000", null],
    [`${"x".repeat(7_999)}\u0000`, null],
    [`${"x".repeat(8_000)}\u0000\n`, 1],
  ] as const) {
    await writeFile(path, content);
    assert.deepEqual(
      await countLines(path),
      { bytes: content.length, lines },
      JSON.stringify(content.slice(0, 20)),
    );
  }
});

test("only a regular file is read: a link is not followed, a folder in its place is refused", async () => {
  await using folder = await createFolder();
  await writeFile(join(folder.path, "file"), "x\n");
  await symlink("file", join(folder.path, "link"));
  await mkdir(join(folder.path, "folder"));
  await assert.rejects(countLines(join(folder.path, "link")), { code: "ELOOP" });
  await assert.rejects(countLines(join(folder.path, "folder")), /no longer a regular file/);
});

test("files add up by language, and the first one that cannot be read ends the count by its name", async () => {
  await using folder = await createFolder();
  await writeFile(join(folder.path, "a.ts"), "1\n2\n3\n");
  await writeFile(join(folder.path, "b.ts"), "1\n");
  await writeFile(join(folder.path, "c.md"), "# c");
  await writeFile(join(folder.path, "d.png"), Buffer.from([137, 80, 0, 1]));
  const seen: number[] = [];
  const paths = ["a.ts", "b.ts", "c.md", "d.png"];
  assert.deepEqual(await countFiles(folder.path, paths, { signal, onFile: (done) => seen.push(done) }), {
    files: 4,
    lines: 5,
    bytes: 15,
    binary_files: 1,
    languages: [
      { language: "TypeScript", files: 2, lines: 4, bytes: 8 },
      { language: "Markdown", files: 1, lines: 1, bytes: 3 },
    ],
    longest_file: { path: "a.ts", lines: 3 },
  });
  assert.deepEqual(seen, [1, 2, 3, 4]);
  await assert.rejects(countFiles(folder.path, ["a.ts", "gone.ts"], { signal }), {
    message: "gone.ts cannot be read: ENOENT: no such file or directory",
  });
  await assert.rejects(countFiles(folder.path, paths, { signal, failingFile: "b.ts" }), {
    message: "b.ts cannot be read: the payload names it as the failing file",
  });
  await assert.rejects(
    countFiles(folder.path, paths, { signal: AbortSignal.abort(new Error("stop")) }),
    /stop/,
  );
});
