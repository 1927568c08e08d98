import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { commitFolder, EMPTY_TREE, giveFolder } from "@keelson/workspace-tree";
import { listWorkspaceFolders } from "../src/workspaces/workspace-folder.ts";
import { ownerOf } from "../src/workspaces/workspace-processes.ts";
import { probeHere, startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";
import { isLong } from "../../server/test/support/seeded-random.ts";
import { cleanUp } from "./support/clean-up.ts";

const ROUNDS = isLong() ? 1_000 : 150;
const LONGEST_MS = 60_000;
/** So that a slow machine does not pass without having tried. */
const FEWEST_ROUNDS = 50;
const SECRET = "of the machine, not of the workspace";

/** Swaps a folder and a link to a folder outside that has the same names in it, as fast as it can. */
const ATTACKER = String.raw`
  use strict; my ($outside, $n) = @ARGV; my $begun = 0;
  while (1) {
    for my $in (".", "victim") {
      mkdir $in; mkdir "$in/d$n"; mkdir "$in/d$n/sub";
      for my $f (map("$in/d$n/f$_", 0 .. 9), "$in/d$n/sub/deep") { if (open my $h, ">", $f) { close $h } }
      symlink $outside, "$in/l$n";
      for (1 .. 200) {
        rename "$in/d$n", "$in/x$n"; rename "$in/l$n", "$in/d$n";
        rename "$in/d$n", "$in/l$n"; rename "$in/x$n", "$in/d$n";
      }
    }
    if (!$begun) { $begun = 1; $| = 1; print "begun\n" }
  }`;

async function makeOutside(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-outside-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "sub"));
  for (const name of [...Array.from({ length: 10 }, (_, i) => `f${i}`), "sub/deep"])
    writeFileSync(join(folder, name), SECRET, { mode: 0o600 });
  // The attacker may come here, and change nothing.
  for (const path of [folder, join(folder, "sub")]) chmodSync(path, 0o755);
  return folder;
}

/** Owner, mode, both times, inode and content of everything in it. */
const fingerprint = (folder: string): unknown[] =>
  ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()].map((name) => {
    const { uid, gid, mode, mtimeMs, ctimeMs, ino, nlink, ...stat } = lstatSync(join(folder, name));
    const content = "isFile" in stat && mode & 0o100000 ? hashOf(join(folder, name)) : null;
    return { name, uid, gid, mode, mtimeMs, ctimeMs, ino, nlink, content };
  });

const hashOf = (path: string): string | null =>
  lstatSync(path).isFile() ? digestOf(readFileSync(path)) : null;
const digestOf = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");

for (const { isolation, skip } of await tiersHere()) {
  test(
    `programs in the ${isolation} tier that swap folders for links lead the agent to no file of the machine`,
    { skip, timeout: 180_000 },
    async (t) => {
      const outside = await makeOutside(t);
      const scene = await startTestSupervisor(t, isolation);
      if (!(await scene.run(["perl", "-e", "print 1"])).stdout.equals(Buffer.from("1")))
        return t.skip("no perl for the attacker");
      const owner = ownerOf({ ...(await probeHere()), isolation }, scene.materializationId);
      mkdirSync(join(scene.root, "victim"));
      if (owner !== null) await giveFolder(scene.root, owner);
      const victim = (await listWorkspaceFolders(scene.root)).find(({ name }) => name === "victim");
      const before = fingerprint(outside);
      const attackers = await Promise.all(
        [1, 2].map((n) => scene.begin(["perl", "-e", ATTACKER, outside, String(n)])),
      );
      await Promise.all(attackers.map((id) => scene.readUntil(id, "begun")));
      const started = performance.now();
      let rounds = 0;
      for (; rounds < ROUNDS && performance.now() - started < LONGEST_MS; rounds += 1) {
        if (owner !== null) await giveFolder(scene.root, owner);
        const { tree } = await commitFolder(scene.root, {
          ...{ base: EMPTY_TREE, cache: new Map(), now: Date.now() },
          sink: { put: async () => undefined },
        });
        const stolen = tree.entries.find(
          (entry) => entry.kind === "file" && entry.digest === digestOf(SECRET),
        );
        assert.equal(stolen, undefined, `round ${rounds}`);
        // A program that still writes there may win; what is asked is that nothing else goes.
        await victim?.folder.remove().catch(() => undefined);
        assert.deepEqual(fingerprint(outside), before, `round ${rounds}`);
      }
      t.diagnostic(`${rounds} rounds${owner === null ? ", nothing to give: the agent is not root" : ""}`);
      assert.ok(rounds >= FEWEST_ROUNDS, `only ${rounds} rounds`);
      await scene.supervisor.stop();
      await victim?.folder.remove();
      assert.ok(!existsSync(join(scene.root, "victim")));
    },
  );
}
