// Every name is Latin-1 text for its bytes here, so that each byte can be in one.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { describe, test } from "node:test";
import { commitFolder, EMPTY_TREE, giveFolder, removeFolder, writeFolder } from "@keelson/workspace-tree";
import { memoryBlobs, memoryFolder, testFolder } from "./support.ts";

const isRoot = process.geteuid?.() === 0;
const onlyRoot = isRoot ? false : "only root may give files to another user";
const onlyLinux = process.platform === "linux" ? false : "only Linux has workspaces of several users";

const bytesOf = (path: string): Buffer => Buffer.from(path, "latin1");

/** A chain of folders too deep for one path, each with a file in it. */
function makeDeep(folder: string, levels: number): void {
  const script = `
    const { mkdirSync, writeFileSync } = require("node:fs");
    for (let i = 0; i < ${levels}; i += 1) { writeFileSync("f", "x"); mkdirSync("d"); process.chdir("d"); }`;
  execFileSync(process.execPath, ["-e", script], { cwd: folder });
}

const OTHER = 65_534;
/** Runs code of this package as a user who is not root. */
function runAsOther(code: string): void {
  const module = JSON.stringify(new URL("../src/index.ts", import.meta.url).href);
  const drop = isRoot ? `process.setgid(${OTHER}); process.setuid(${OTHER});` : "";
  const script = `const { removeFolder } = await import(${module}); ${drop} ${code}`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
}

describe("a live folder", () => {
  for (const levels of [600, 10_000])
    test(`is removed ${levels} levels deep`, async () => {
      const folder = `${await memoryFolder()}/tree`;
      mkdirSync(folder);
      makeDeep(folder, levels);
      await removeFolder(folder);
      assert.ok(!existsSync(folder));
    });

  test("is removed with every byte in names, and what its links lead to stays", async () => {
    const parent = testFolder();
    const outside = testFolder();
    writeFileSync(`${outside}/precious`, "kept");
    const folder = `${parent}/tree`;
    mkdirSync(folder);
    for (let byte = 1; byte < 256; byte += 1) {
      if (byte === 0x2f || byte === 0x2e) continue;
      const name = String.fromCharCode(byte);
      mkdirSync(bytesOf(`${folder}/${name}`));
      writeFileSync(bytesOf(`${folder}/${name}/${name}`), name);
      symlinkSync(outside, bytesOf(`${folder}/${name}/${name}-link`));
    }
    execFileSync("mkfifo", [`${folder}/pipe`]);
    await removeFolder(folder);
    assert.deepEqual(readdirSync(parent), []);
    assert.equal(readFileSync(`${outside}/precious`, "utf8"), "kept");
    symlinkSync(outside, folder);
    await removeFolder(folder);
    assert.deepEqual([readdirSync(parent), readdirSync(outside)], [[], ["precious"]]);
    await removeFolder(folder);
  });

  test("is removed by its owner, who is not root, whatever may not be read or written in it", () => {
    const folder = testFolder();
    chmodSync(folder, 0o777);
    runAsOther(`
      const { chmodSync, existsSync, mkdirSync, writeFileSync } = await import("node:fs");
      const tree = ${JSON.stringify(folder)} + "/tree";
      // As "go mod download" leaves its cache.
      mkdirSync(tree + "/mod/a@v1/b", { recursive: true });
      for (const name of ["/mod", "/mod/a@v1", "/mod/a@v1/b"]) {
        writeFileSync(tree + name + "/file", "x", { mode: 0o400 });
        mkdirSync(tree + name + "/closed");
        writeFileSync(tree + name + "/closed/file", "x");
        chmodSync(tree + name + "/closed", 0o000);
      }
      for (const name of ["/mod/a@v1/b", "/mod/a@v1", "/mod", ""]) chmodSync(tree + name, name === "" ? 0o000 : 0o500);
      await removeFolder(tree);
      if (existsSync(tree)) throw new Error("it is there still");`);
    assert.deepEqual(readdirSync(folder), []);
  });

  test("loses everything else when something in it cannot be removed", { skip: onlyRoot }, () => {
    const folder = testFolder();
    chmodSync(folder, 0o777);
    mkdirSync(`${folder}/tree/a/foreign`, { recursive: true });
    writeFileSync(`${folder}/tree/a/foreign/file`, "x");
    for (const name of ["tree", "tree/a", "tree/a/mine", "tree/z"]) {
      mkdirSync(`${folder}/${name}`, { recursive: true });
      execFileSync("chown", [`${OTHER}`, `${folder}/${name}`]);
    }
    runAsOther(`
      let failure = null;
      await removeFolder(${JSON.stringify(`${folder}/tree`)}).catch((error) => (failure = error));
      if (failure?.code !== "EACCES") throw new Error("it should say what is in the way", { cause: failure });`);
    const left = readdirSync(`${folder}/tree`, { recursive: true, encoding: "utf8" });
    assert.deepEqual(left.toSorted(), ["a", "a/foreign", "a/foreign/file"]);
  });

  test("is given whole, 3,000 levels deep, pipes and links themselves too", { skip: onlyRoot }, async () => {
    const folder = await memoryFolder();
    const outside = await memoryFolder();
    makeDeep(folder, 3_000);
    symlinkSync(outside, bytesOf(`${folder}/\xff-link`));
    execFileSync("mkfifo", [`${folder}/pipe`]);
    assert.deepEqual(await giveFolder(folder, { uid: OTHER, gid: OTHER }), []);
    const left = execFileSync("find", [folder, "!", "-uid", `${OTHER}`]).toString();
    assert.equal(left, "");
    assert.equal(statSync(outside).uid, 0);
  });

  test(
    "is given up to a bound, so that a program that adds folders without end holds nobody up",
    { skip: onlyRoot },
    async () => {
      const folder = testFolder();
      for (const name of ["a", "b", "c"]) mkdirSync(`${folder}/${name}`);
      const other = { uid: OTHER, gid: OTHER };
      await assert.rejects(giveFolder(folder, other, 2), { code: "too_large" });
      assert.equal(
        readdirSync(folder).filter((name) => statSync(`${folder}/${name}`).uid === OTHER).length,
        2,
      );
      await giveFolder(folder, other, 3);
    },
  );

  test("never gives a file that has another name, nor a device", { skip: onlyRoot }, async () => {
    const folder = testFolder();
    const outside = testFolder();
    writeFileSync(`${outside}/precious`, "kept");
    linkSync(`${outside}/precious`, `${folder}/planted`);
    const devices = spawnSync("mknod", [`${folder}/device`, "c", "1", "3"]).status === 0 ? ["device"] : [];
    writeFileSync(`${folder}/own`, "x");
    const withheld = await giveFolder(folder, { uid: OTHER, gid: OTHER });
    assert.deepEqual(withheld.sort(), [...devices, "planted"]);
    assert.equal(statSync(`${outside}/precious`).uid, 0);
    assert.equal(statSync(`${folder}/own`).uid, OTHER);
  });
});

/** A generator of the same numbers for the same seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LETTERS = [..."\x01\t\n\x1b \"'\\*?-~a.B\x7f".split(""), "é", "ß", "中", "😀", "\uffff", "\u{10ffff}"];
const FOLDER_MODES = [0o700, 0o755, 0o500, 0o555, 0o711];
const FILE_MODES = [0o644, 0o600, 0o400, 0o444, 0o755, 0o777];

function makeRandom(folder: string, random: (below: number) => number, depth: number): void {
  const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T;
  const time = 1_000_000 + random(1_000_000_000);
  for (let i = random(depth > 4 ? 3 : 8) + 1; i > 0; i -= 1) {
    const path = `${folder}/${Array.from({ length: 1 + random(12) }, () => pick(LETTERS)).join("")}n`;
    if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    const kind = random(10);
    if (kind < 3 && depth > 0) {
      mkdirSync(path);
      makeRandom(path, random, depth - 1);
      utimesSync(path, time, time);
      chmodSync(path, pick(FOLDER_MODES));
    } else if (kind < 5) symlinkSync(pick(["/etc/passwd", "..", "nowhere", "a/\n/b"]), path);
    else {
      // Runs of zeros between others, up to pieces of their own.
      const content = Buffer.alloc(random(40) === 0 ? 5_000_000 : random(30_000));
      for (let at = random(9_000); at < content.length; at += 1 + random(900_000))
        content[at] = 1 + random(255);
      writeFileSync(path, content);
      utimesSync(path, time, time);
      chmodSync(path, pick(FILE_MODES));
    }
  }
}

type Seen = Record<string, unknown[]>;
function look(folder: string, path = "", seen: Seen = {}): Seen {
  for (const name of readdirSync(`${folder}/${path}`)) {
    const child = path === "" ? name : `${path}/${name}`;
    const stat = lstatSync(`${folder}/${child}`);
    if (stat.isSymbolicLink()) seen[child] = ["link", readlinkSync(`${folder}/${child}`)];
    else if (stat.isFile())
      seen[child] = ["file", stat.mode, stat.mtimeMs, readFileSync(`${folder}/${child}`).toString("base64")];
    else seen[child] = ["folder", stat.mode, stat.mtimeMs];
    if (stat.isDirectory()) look(folder, child, seen);
  }
  return seen;
}

test(
  "random trees come back exactly from their commit, and are removed whole",
  { skip: onlyLinux },
  async (t) => {
    let entries = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const [from, to] = [`${testFolder()}/tree`, `${testFolder()}/tree`];
      for (const folder of [from, to]) mkdirSync(folder);
      makeRandom(from, seeded(seed), 1 + (seed % 12));
      const blobs = memoryBlobs();
      const now = Date.now() + 1_000;
      const committed = await commitFolder(from, { base: EMPTY_TREE, cache: new Map(), sink: blobs, now });
      const cache = await writeFolder(to, committed.tree, { source: blobs });
      const seen = look(from);
      entries += Object.keys(seen).length;
      assert.deepEqual(look(to), seen, `seed ${seed}`);
      const again = await commitFolder(to, { base: committed.tree, cache, sink: blobs, now: Date.now() });
      assert.equal(again.changed, false, `seed ${seed}`);
      for (const folder of [from, to]) await removeFolder(folder);
      assert.ok(!existsSync(from) && !existsSync(to), `seed ${seed}`);
    }
    t.diagnostic(`${entries} entries`);
  },
);
