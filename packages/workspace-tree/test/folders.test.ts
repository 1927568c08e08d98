import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import {
  commitFolder,
  decodeManifest,
  EMPTY_TREE,
  findEntry,
  TREE_LIMITS,
  TreeError,
  writeFolder,
  type CommittedFolder,
  type FileEntry,
} from "@keelson/workspace-tree";
import { isLong } from "../../server/test/support/seeded-random.ts";
import { makeTestFolder } from "../../server/test/support/test-folder.ts";
import { memoryBlobs, testFolder, type MemoryBlobs } from "./support.ts";

const LATER_MS = 1_000;

/** Commits as if a while had gone by since the last write, so that what was read is trusted the next time. */
const commit = (folder: string, blobs: MemoryBlobs, last?: CommittedFolder, lostBlobs?: Set<string>) =>
  commitFolder(folder, {
    base: last?.tree ?? EMPTY_TREE,
    cache: last?.cache ?? new Map(),
    sink: blobs,
    now: Date.now() + LATER_MS,
    ...(lostBlobs === undefined ? {} : { lostBlobs }),
  });

const refused = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof TreeError && error.code === code && message.test(error.message);

describe("folders", () => {
  test("modes, empty folders, links, empty, large and binary files come back as they were", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    mkdirSync(`${folder}/empty`);
    mkdirSync(`${folder}/d/e`, { recursive: true });
    writeFileSync(`${folder}/d/e/run.sh`, "#!/bin/sh\n");
    chmodSync(`${folder}/d/e/run.sh`, 0o4751);
    writeFileSync(`${folder}/nothing`, "");
    writeFileSync(`${folder}/same`, "#!/bin/sh\n");
    writeFileSync(`${folder}/a\nb 😀`, Buffer.from([0, 255, 10, 13]));
    writeFileSync(`${folder}/large`, Buffer.alloc(9_500_001, "large"));
    symlinkSync("d/e/run.sh", `${folder}/link`);
    symlinkSync("/etc", `${folder}/out`);
    symlinkSync("nowhere", `${folder}/d/broken`);
    utimesSync(`${folder}/nothing`, 1_000_000, 1_000_000);
    chmodSync(`${folder}/d`, 0o555);
    const committed = await commit(folder, blobs);
    chmodSync(`${folder}/d`, 0o755);
    const { tree } = await decodeManifest(
      committed.manifest?.digest as string,
      blobs.stored.get(committed.manifest?.digest as string) as Uint8Array,
    );
    assert.deepEqual(tree, committed.tree);
    // What is behind a link is not in it.
    assert.equal(findEntry(tree, "out/passwd"), null);
    assert.deepEqual(
      (findEntry(tree, "same") as FileEntry).extents,
      (findEntry(tree, "d/e/run.sh") as FileEntry).extents,
    );
    const out = testFolder();
    const cache = await writeFolder(out, tree, { source: blobs });
    assert.equal(statSync(`${out}/d/e/run.sh`).mode & 0o7777, 0o751);
    assert.equal(statSync(`${out}/d`).mode & 0o7777, 0o555);
    assert.deepEqual(readdirSync(`${out}/empty`), []);
    assert.equal(readlinkSync(`${out}/out`), "/etc");
    assert.equal(readlinkSync(`${out}/d/broken`), "nowhere");
    assert.equal(statSync(`${out}/nothing`).mtimeMs, 1_000_000_000);
    assert.ok(readFileSync(`${out}/large`).equals(readFileSync(`${folder}/large`)));
    assert.ok(readFileSync(`${out}/a\nb 😀`).equals(Buffer.from([0, 255, 10, 13])));
    const again = await commitFolder(out, { base: tree, cache, sink: blobs, now: Date.now() });
    assert.deepEqual([again.changed, again.manifest], [false, null]);
    chmodSync(`${out}/d`, 0o755);
  });

  test("an unchanged folder is not read again, and a changed one only where it changed", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    for (let i = 0; i < 50; i += 1) writeFileSync(`${folder}/f${i}`, `content ${i}`);
    const first = await commit(folder, blobs);
    assert.deepEqual([first.changed, first.tree.fileCount, first.manifest?.blobs.length], [true, 50, 1]);
    // A cache that is believed: the content it names is taken without a look at the file.
    const cached = first.cache.get("f7");
    assert.ok(cached);
    const unchanged = await commit(folder, blobs, first);
    assert.equal(unchanged.changed, false);
    const storedBefore = blobs.stored.size;
    writeFileSync(`${folder}/f7`, "new content");
    rmSync(`${folder}/f8`);
    const second = await commit(folder, blobs, unchanged);
    assert.equal(second.tree.fileCount, 49);
    assert.equal(blobs.stored.size, storedBefore + 2);
    assert.deepEqual(
      (findEntry(second.tree, "f9") as FileEntry).extents,
      (findEntry(first.tree, "f9") as FileEntry).extents,
    );
    // Moved files have their content there already.
    mkdirSync(`${folder}/moved`);
    renameSync(`${folder}/f9`, `${folder}/moved/f9`);
    const third = await commit(folder, blobs, second);
    assert.equal(third.storedBytes, 0);
    assert.equal(third.changed, true);
  });

  test("a file that changed too lately to be told by its time is read again", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${folder}/f`, "one");
    const first = await commitFolder(folder, {
      base: EMPTY_TREE,
      cache: new Map(),
      sink: blobs,
      now: Date.now(),
    });
    assert.equal(first.cache.has("f"), false);
  });

  test("a file that changes as soon as it was written is read again, though its time says nothing", async () => {
    const from = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${from}/f`, "one");
    utimesSync(`${from}/f`, 5, 5);
    const { tree } = await commit(from, blobs);
    let unwaited = 0;
    for (let round = 0; round < (isLong() ? 100 : 30); round += 1) {
      const to = testFolder();
      const cache = await writeFolder(to, tree, { source: blobs });
      if (!cache.has("f")) unwaited += 1;
      writeFileSync(`${to}/f`, "two");
      utimesSync(`${to}/f`, 5, 5);
      const changed = await commitFolder(to, { base: tree, cache, sink: blobs, now: Date.now() });
      assert.equal(changed.changed, true, `round ${round}`);
    }
    // Nothing waits until a change would be seen by its time, after which the file would be remembered. A machine that
    // stands still for so long does so in a few rounds at most.
    assert.ok(unwaited > 0);
  });

  test("a touched file makes no new tree", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${folder}/f`, "one");
    const first = await commit(folder, blobs);
    utimesSync(`${folder}/f`, 5, 5);
    assert.equal((await commit(folder, blobs, first)).changed, false);
  });

  test("pieces that were lost are stored again", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${folder}/f`, "one");
    const first = await commit(folder, blobs);
    const [lost] = first.manifest?.blobs ?? [];
    blobs.stored.clear();
    writeFileSync(`${folder}/g`, "two");
    const second = await commit(folder, blobs, first, new Set([lost as string]));
    for (const digest of second.manifest?.blobs ?? []) assert.ok(blobs.stored.has(digest));
    const out = testFolder();
    await writeFolder(out, second.tree, { source: blobs });
    assert.equal(readFileSync(`${out}/f`, "utf8"), "one");
  });

  test("names and link targets that are not UTF-8 are kept with their bytes as escapes, and named", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    const raw = (name: string) => Buffer.from(`${folder}/${name}`, "latin1");
    writeFileSync(raw("bad-\xff\xfe"), "x");
    mkdirSync(raw("d\xe9"));
    writeFileSync(raw("d\xe9/f"), "in it");
    symlinkSync(Buffer.from([0x61, 0xc3]), `${folder}/link`);
    writeFileSync(`${folder}/fine`, "fine");
    const first = await commit(folder, blobs);
    const paths = ["bad-\\xff\\xfe", "d\\xe9", "d\\xe9/f", "fine", "link"];
    assert.deepEqual(
      first.tree.entries.map((entry) => entry.path),
      paths,
    );
    assert.deepEqual([...first.renamed], ["bad-\\xff\\xfe", "d\\xe9", "link"]);
    assert.equal(first.leftOutCount, 0);
    assert.deepEqual((findEntry(first.tree, "link") as { target: string }).target, "a\\xc3");
    assert.equal((await commit(folder, blobs, first)).changed, false);
    const out = testFolder();
    await writeFolder(out, first.tree, { source: blobs });
    assert.equal(readFileSync(`${out}/d\\xe9/f`, "utf8"), "in it");
  });

  test("names that would be escaped alike, or to more than a name may have, lose nothing of the others", async () => {
    const folder = testFolder();
    writeFileSync(`${folder}/a\\xff`, "as text");
    writeFileSync(Buffer.from(`${folder}/a\xff`, "latin1"), "as bytes");
    writeFileSync(Buffer.from(`${folder}/${"\xff".repeat(100)}`, "latin1"), "too long when escaped");
    const { tree, renamed, leftOut, leftOutCount } = await commit(folder, memoryBlobs());
    assert.deepEqual(
      tree.entries.map(({ path: at }) => at),
      ["\\x61\\xff", "a\\xff"],
    );
    assert.deepEqual([...renamed], ["\\x61\\xff"]);
    assert.deepEqual([leftOutCount, leftOut[0]?.reason], [1, "name"]);
  });

  test("a link whose target is longer than a link may be once it is escaped is left out, not met at the restore", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    symlinkSync("x".repeat(4095), `${folder}/text`);
    symlinkSync(Buffer.alloc(1023, 0xff), `${folder}/fits`);
    symlinkSync(Buffer.alloc(1024, 0xff), `${folder}/over`);
    const { tree, leftOut } = await commit(folder, blobs);
    assert.deepEqual(leftOut, [{ path: "over", reason: "path_too_long" }]);
    const out = testFolder();
    await writeFolder(out, tree, { source: blobs });
    assert.equal(readlinkSync(`${out}/text`), "x".repeat(4095));
    assert.equal(readlinkSync(`${out}/fits`), "\\xff".repeat(1023));
  });

  test("what its owner made unreadable is kept, with its mode, by an agent without rights", (t) => {
    if (process.getuid?.() !== 0) return t.skip("root makes itself an ordinary user here");
    const folder = testFolder();
    execFileSync("chown", ["-R", "12345:12345", folder]);
    const script = `
      import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
      import { commitFolder, EMPTY_TREE } from "@keelson/workspace-tree";
      const [folder] = process.argv.slice(1);
      process.setgroups([12345]); process.setgid(12345); process.setuid(12345);
      mkdirSync(folder + "/shut/inner", { recursive: true });
      writeFileSync(folder + "/shut/inner/f", "kept");
      writeFileSync(folder + "/shut/g", "too");
      for (const [path, mode] of [["/shut/g", 0], ["/shut/inner", 0o100], ["/shut", 0], ["", 0]]) chmodSync(folder + path, mode);
      const sink = { put: async () => undefined };
      const options = { base: EMPTY_TREE, cache: new Map(), sink, now: Date.now() };
      const { tree, leftOutCount } = await commitFolder(folder, options);
      const shown = tree.entries.map(({ path, mode }) => path + " " + mode.toString(8));
      process.stdout.write(JSON.stringify({ shown, leftOutCount, root: statSync(folder).mode & 0o777 }));`;
    const out = execFileSync(
      process.execPath,
      ["--conditions=@keelson/source", "--input-type=module", "--eval", script, folder],
      { cwd: import.meta.dirname, encoding: "utf8" },
    );
    assert.deepEqual(JSON.parse(out), {
      shown: ["shut 0", "shut/g 0", "shut/inner 100", "shut/inner/f 644"],
      leftOutCount: 0,
      root: 0,
    });
  });

  test("of more entries than a tree may have, the rest is left out and counted", async () => {
    // In memory: a disk's file system takes five times as long for so many.
    const folder = await makeTestFolder();
    mkdirSync(`${folder}/many`);
    writeFileSync(`${folder}/a`, "first");
    const many = TREE_LIMITS.entries - 2;
    for (let i = 0; i < many; i += 1) symlinkSync("x", `${folder}/many/${i}`);
    // So many take seconds to look at: that as many as may be are kept is looked at alone in the long form.
    const exact = isLong() ? await commit(folder, memoryBlobs()) : undefined;
    if (exact) assert.deepEqual([exact.tree.entries.length, exact.leftOutCount], [TREE_LIMITS.entries, 0]);
    for (let i = 0; i < 150; i += 1) symlinkSync("x", `${folder}/z${i}`);
    const over = await commit(folder, memoryBlobs(), exact);
    assert.deepEqual([over.changed, over.leftOutCount, over.leftOut.length], [!exact, 150, 100]);
    assert.equal(over.tree.entries.length, TREE_LIMITS.entries);
    assert.deepEqual(over.leftOut[0], { path: "z0", reason: "too_many_entries" });
    assert.ok(findEntry(over.tree, "a") !== null);
    rmSync(folder, { recursive: true });
  });

  test("pipes and sockets are left out and named", async () => {
    const folder = testFolder();
    execFileSync("sh", ["-c", 'mkfifo "$0/pipe"', folder]);
    writeFileSync(`${folder}/f`, "x");
    const { skipped, tree } = await commit(folder, memoryBlobs());
    assert.deepEqual(skipped, [{ path: "pipe", kind: "pipe" }]);
    assert.equal(tree.entries.length, 1);
  });

  test("a deep tree is kept up to the longest path", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    const deep = Array.from({ length: 200 }, (_, i) => `d${i}`).join("/");
    mkdirSync(`${folder}/${deep}`, { recursive: true });
    writeFileSync(`${folder}/${deep}/f`, "x");
    const { tree } = await commit(folder, blobs);
    const out = testFolder();
    await writeFolder(out, tree, { source: blobs });
    assert.equal(readFileSync(`${out}/${deep}/f`, "utf8"), "x");
    // Longer than any one path may be: two halves that were made apart.
    const half = (top: string) => [top, ...Array.from({ length: 14 }, () => "n".repeat(200))].join("/");
    mkdirSync(`${folder}/${half("one")}`, { recursive: true });
    mkdirSync(`${folder}/${half("two")}`, { recursive: true });
    renameSync(`${folder}/two`, `${folder}/${half("one")}/two`);
    const longer = await commit(folder, blobs);
    assert.ok(findEntry(longer.tree, `${deep}/f`) !== null);
    assert.ok(longer.tree.entries.every((entry) => Buffer.byteLength(entry.path) <= 4096));
    assert.equal(longer.leftOutCount, 1);
    assert.equal(longer.leftOut[0]?.reason, "path_too_long");
    assert.ok(Buffer.byteLength(longer.leftOut[0]?.path ?? "") > 4096);
  });

  test("a folder that is swapped for a link while it is scanned leads nowhere else", async () => {
    const folder = testFolder();
    const outside = testFolder();
    writeFileSync(`${outside}/secret`, "outside");
    for (let i = 0; i < 40; i += 1) {
      mkdirSync(`${folder}/d${i}`);
      for (let j = 0; j < 20; j += 1) writeFileSync(`${folder}/d${i}/f${j}`, "inside");
    }
    const script = `cd "$0"; while :; do for i in 3 17 29 38; do mv d$i x && ln -s "$1" d$i; rm d$i; mv x d$i; done; done`;
    // A group of its own: the program that the shell runs when it is killed must not go on.
    const attacker = spawn("sh", ["-c", script, folder, outside], { detached: true });
    const gone = once(attacker, "close");
    try {
      for (let round = 0; round < (isLong() ? 60 : 15); round += 1) {
        const { tree } = await commit(folder, memoryBlobs());
        assert.ok(tree.entries.every((entry) => !entry.path.endsWith("secret")));
      }
    } finally {
      process.kill(-(attacker.pid as number), "SIGKILL");
      await gone;
    }
  });

  test("a tree is written over nothing and through no link", async () => {
    const folder = testFolder();
    const outside = testFolder();
    const blobs = memoryBlobs();
    mkdirSync(`${folder}/d`);
    writeFileSync(`${folder}/d/f`, "x");
    const { tree } = await commit(folder, blobs);
    for (const prepare of [
      (out: string) => symlinkSync(outside, `${out}/d`),
      (out: string) => (mkdirSync(`${out}/d`), symlinkSync(`${outside}/f`, `${out}/d/f`)),
      (out: string) => writeFileSync(`${out}/d`, ""),
    ]) {
      const out = testFolder();
      prepare(out);
      await assert.rejects(writeFolder(out, tree, { source: blobs }), { code: "EEXIST" });
    }
    assert.deepEqual(readdirSync(outside), []);
    const link = path.join(testFolder(), "root");
    symlinkSync(outside, link);
    await assert.rejects(writeFolder(link, tree, { source: blobs }));
    await assert.rejects(commit(link, blobs));
    assert.ok(lstatSync(link).isSymbolicLink());
  });

  test("damaged and missing blobs stop a write before a wrong byte is written", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${folder}/f`, "precious");
    const { tree, manifest } = await commit(folder, blobs);
    const [digest] = manifest?.blobs ?? [];
    const bytes = Uint8Array.from(blobs.stored.get(digest as string) as Uint8Array);
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 4;
    blobs.stored.set(digest as string, bytes);
    const out = testFolder();
    await assert.rejects(writeFolder(out, tree, { source: blobs }), refused("damaged", /damaged/));
    assert.ok(!existsSync(`${out}/f`) || readFileSync(`${out}/f`).length === 0);
    blobs.stored.delete(digest as string);
    await assert.rejects(
      writeFolder(testFolder(), tree, { source: blobs }),
      refused("missing_blob", /not there/),
    );
  });

  test("a file that grows while it is read is taken with bytes that are its own", async () => {
    const folder = testFolder();
    const blobs = memoryBlobs();
    writeFileSync(`${folder}/log`, "line\n".repeat(1_000_000));
    const committing = commit(folder, blobs);
    for (let i = 0; i < 200; i += 1) {
      appendFileSync(`${folder}/log`, "line\n");
      await new Promise(setImmediate);
    }
    const { tree } = await committing;
    const out = testFolder();
    await writeFolder(out, tree, { source: blobs });
    assert.match(readFileSync(`${out}/log`, "utf8").slice(-10), /^line\nline\n$/);
  });
});
