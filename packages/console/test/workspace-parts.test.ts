// What the pages of a workspace are made of, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FileEntry } from "@keelson/contract";
import { lineDiff } from "../src/features/workspaces/changes/line-diff.ts";
import { commandLine, parseVariables } from "../src/features/workspaces/commands/command-form.ts";
import { decodeText, fileKindOf, hexRows, lineEndOf } from "../src/features/workspaces/files/file-kind.ts";
import { highlightLines } from "../src/features/workspaces/files/highlight-lines.ts";
import { languageOf } from "../src/features/workspaces/files/language-of.ts";
import {
  ancestorsOf,
  directoriesFirst,
  moveOf,
  treeRows,
  type Directory,
} from "../src/features/workspaces/files/tree-rows.ts";
import { createByteReader, createOutputReader } from "../src/features/workspaces/output-reader.ts";
import { createInputBatches } from "../src/features/workspaces/terminal/pty-input.ts";
import { readWorkspaceSearch } from "../src/features/workspaces/workspace-search.ts";
import { describeBytes } from "../src/ui/describe-bytes.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("a file", () => {
  const kinds: [string, Uint8Array, object][] = [
    ["a PNG", bytes("\u0089PNG\r\n\u001a\n…"), { kind: "image", type: "image/png" }],
    ["a JPEG", bytes("\u00ff\u00d8\u00ff\u00e0"), { kind: "image", type: "image/jpeg" }],
    ["a GIF", bytes("GIF89a\u0001"), { kind: "image", type: "image/gif" }],
    ["a WebP", bytes("RIFF1234WEBPVP8 "), { kind: "image", type: "image/webp" }],
    ["an SVG", bytes("<svg onload=alert(1)>"), { kind: "text" }],
    ["a page", bytes("<!doctype html><script>"), { kind: "text" }],
    ["a program", bytes("\u007fELF\u0002\u0000"), { kind: "binary" }],
    ["a sound", bytes("RIFF1234WAVEfmt "), { kind: "text" }],
    ["nothing", bytes(""), { kind: "text" }],
  ];
  for (const [name, content, kind] of kinds)
    test(`is what its bytes are: ${name}`, () => assert.deepEqual(fileKindOf(content), kind));

  test("that is no UTF-8 is known to be damaged as text, one that is cut off is not", () => {
    assert.deepEqual(decodeText(bytes("caf\u00e9"), true), { text: "caf\ufffd", isDamaged: true });
    const cut = new TextEncoder().encode("café").subarray(0, 4);
    assert.deepEqual(decodeText(cut, false), { text: "caf", isDamaged: false });
    assert.deepEqual(decodeText(new TextEncoder().encode("\ufeffx"), true).text, "\ufeffx");
  });

  test("is edited when its lines can be given back as they were", () => {
    for (const [text, end] of [
      ["a\nb", "\n"],
      ["", "\n"],
      ["a\r\nb\r\n", "\r\n"],
      ["a\r\nb\n", null],
      ["a\rb", null],
    ] as const)
      assert.equal(lineEndOf(text), end, JSON.stringify(text));
  });

  test("as bytes", () => {
    assert.deepEqual(hexRows(bytes("0123456789abcdef<\u0000"), 1024), [
      {
        offset: "00000000",
        bytes: "30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66",
        text: "0123456789abcdef",
      },
      { offset: "00000010", bytes: "3c 00", text: "<." },
    ]);
    assert.equal(hexRows(new Uint8Array(5000), 1024).length, 64);
  });

  test("is coloured piece by piece, and the pieces are the text", () => {
    const text = 'const a = "<b>&amp;</b>"; // <script>\n`x${1}`\n';
    const lines = highlightLines({ text, language: "typescript" });
    assert.equal(lines.map((line) => line.map(([, piece]) => piece).join("")).join("\n"), text);
    assert.deepEqual(lines[0]?.[0], ["keyword", "const"]);
    assert.ok(lines[0]?.some(([kind, piece]) => kind === "comment" && piece === "// <script>"));
    const page = "<style>a { color: red }</style><script>let x = 1</script>";
    const pieces = highlightLines({ text: page, language: "xml" }).flat();
    assert.equal(pieces.map(([, piece]) => piece).join(""), page);
    for (const [path, language] of [
      ["a/b.TS", "typescript"],
      ["Makefile", "makefile"],
      ["a.b/none", null],
      ["constructor", null],
    ] as const)
      assert.equal(languageOf(path), language);
  });

  test("has a size in words", () => {
    for (const [size, words] of [
      [0, "0 bytes"],
      [1, "1 byte"],
      [1023, "1,023 bytes"],
      [1536, "1.5 KiB"],
      [64 * 1024 * 1024, "64 MiB"],
      [150 * 1024, "150 KiB"],
    ] as const)
      assert.equal(describeBytes(size), words);
  });
});

const entry = (path: string, kind: FileEntry["kind"] = "file"): FileEntry => ({
  path,
  name: path.slice(path.lastIndexOf("/") + 1),
  kind,
  size_bytes: 1,
  mode: "0644",
  link_target: null,
  digest: null,
  modified_at: "2026-01-01T00:00:00.000Z",
});
const loaded = (...entries: FileEntry[]): Directory => ({
  state: "loaded",
  entries: directoriesFirst(entries),
  hasMore: false,
});

describe("the tree of files", () => {
  const directories = new Map<string, Directory>([
    ["", loaded(entry("a.txt"), entry("src", "directory"), entry("z", "directory"))],
    ["src", loaded(entry("src/deep", "directory"), entry("src/main.ts"))],
    ["src/deep", { state: "loading" }],
  ]);
  const rows = treeRows(directories, new Set(["src", "src/deep"]));

  test("shows what is in directories that are open", () => {
    assert.deepEqual(
      rows.map((row) =>
        row.kind === "entry" ? [row.key, row.level, row.isExpanded] : [row.text, row.level],
      ),
      [
        ["src", 1, true],
        ["src/deep", 2, true],
        ["Loading …", 3],
        ["src/main.ts", 2, null],
        ["z", 1, false],
        ["a.txt", 1, null],
      ],
    );
    assert.deepEqual(ancestorsOf("a/b/c"), ["a", "a/b"]);
    assert.deepEqual(ancestorsOf("a"), []);
  });

  const moves: [string | null, string, object | null][] = [
    [null, "ArrowDown", { kind: "go", key: "src" }],
    ["src", "ArrowUp", { kind: "go", key: "src" }],
    ["src/deep", "ArrowDown", { kind: "go", key: "src/main.ts" }],
    ["src", "ArrowRight", { kind: "go", key: "src/deep" }],
    ["src/deep", "ArrowRight", null],
    ["z", "ArrowRight", { kind: "expand", path: "z" }],
    ["src", "ArrowLeft", { kind: "collapse", path: "src" }],
    ["src/main.ts", "ArrowLeft", { kind: "go", key: "src" }],
    ["a.txt", "ArrowLeft", null],
    ["src", "End", { kind: "go", key: "a.txt" }],
    ["a.txt", "Home", { kind: "go", key: "src" }],
    ["a.txt", "PageUp", { kind: "go", key: "src" }],
    ["z", "Enter", { kind: "expand", path: "z" }],
    ["src", " ", { kind: "collapse", path: "src" }],
    ["a.txt", "Enter", { kind: "open", entry: entry("a.txt") }],
    ["src", "m", { kind: "go", key: "src/main.ts" }],
    ["a.txt", "S", { kind: "go", key: "src" }],
    ["a.txt", "x", null],
    ["a.txt", "Tab", null],
  ];
  for (const [active, key, expected] of moves)
    test(`${key} at ${active ?? "nothing"}`, () => assert.deepEqual(moveOf(rows, active, key), expected));
});

test("what changed in a text is told by lines, with some around", () => {
  const before = Array.from({ length: 20 }, (_, index) => `${index}\n`).join("");
  const rows = lineDiff(before, before.replace("10\n", "ten\n10.5\n"));
  assert.deepEqual(
    rows?.map((row) => `${row.kind} ${row.text}`),
    [
      "hunk @@ -8,7 +8,8 @@",
      ...["same 7", "same 8", "same 9", "removed 10", "added ten", "added 10.5"],
      ...["same 11", "same 12", "same 13"],
    ],
  );
  assert.deepEqual(rows?.[4], { kind: "removed", before: 11, text: "10" });
  assert.deepEqual(rows?.[6], { kind: "added", after: 12, text: "10.5" });
  assert.deepEqual(lineDiff("a", "a"), []);
  assert.deepEqual(
    lineDiff("a", "a\n")?.map(({ kind }) => kind),
    ["hunk", "removed", "note", "added"],
  );
  assert.deepEqual(
    lineDiff("", "-- x\n")?.map(({ kind, text }) => [kind, text]),
    [
      ["hunk", "@@ -0,0 +1,1 @@"],
      ["added", "-- x"],
    ],
  );
});

test("a command and its environment", () => {
  assert.equal(commandLine(["sh", "-c", "a | b"]), "a | b");
  assert.equal(commandLine(["npm", "test", "it's", ""]), "npm test 'it'\\''s' ''");
  assert.deepEqual(parseVariables("A=1\n\n b_2 =x=y\n"), { env: { A: "1", b_2: "x=y" } });
  for (const text of ["A", "=1", "1A=2", "A-B=1"]) assert.ok("problem" in parseVariables(text), text);
});

describe("output", () => {
  const chunk = (offset: number, text: string) => ({ offset, data: btoa(text), at: "" });

  test("that comes again is not taken again", () => {
    const reader = createByteReader();
    const parts = [chunk(0, "abc"), chunk(0, "abc"), chunk(2, "cde"), chunk(9, "x")].map((part) =>
      new TextDecoder().decode(reader.take(part)),
    );
    assert.deepEqual(parts, ["abc", "", "de", "x"]);
    assert.equal(reader.position(), 10);
  });

  test("has its characters whole", () => {
    const reader = createOutputReader();
    assert.equal(reader.text(chunk(0, "\u00c3")) + reader.text(chunk(1, "\u00a9\u00c3")), "é");
    assert.equal(reader.rest(), "\ufffd");
  });
});

test("what is typed while a piece is under way goes with the next, in order", async () => {
  const sent: string[] = [];
  const waiting: (() => void)[] = [];
  const failures: unknown[] = [];
  const batches = createInputBatches(
    (piece) => {
      sent.push(new TextDecoder().decode(piece));
      return new Promise((resolve) => waiting.push(resolve));
    },
    (error) => failures.push(error),
  );
  const settle = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (const letter of "abc") batches.push(bytes(letter));
  await settle();
  batches.push(bytes("d"));
  await settle();
  await settle();
  assert.deepEqual(sent, ["a", "bc", "d"]);
  assert.deepEqual(failures, []);
});

test("an address says what it knows, and nothing else", () => {
  assert.deepEqual(readWorkspaceSearch({ tab: "history", path: 12, version: "", pty: ["x"], x: 1 }), {
    tab: "history",
    path: "12",
  });
  assert.deepEqual(readWorkspaceSearch({ tab: "constructor" }), {});
});
