import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { LIMITS, type FileAnswers, type FileCall } from "@keelson/contract";
import { giveFolder, type Owner } from "@keelson/workspace-tree";
import { ownerOf } from "../src/workspaces/workspace-processes.ts";
import { RunFiles } from "../src/workspaces/run-files.ts";
import {
  probeHere,
  startTestSupervisor,
  tiersHere,
  type TestSupervisor,
} from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const ROUNDS = 1_000;
const LONGEST_MS = 120_000;
const FEWEST_ROUNDS = 50;
/** Calls that were led to a link, so that a slow attacker does not let it pass. */
const FEWEST_LINKS = 200;
const SECRET = "of the machine, not of the workspace";
const sh = (script: string): string[] => ["sh", "-c", script];
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Swaps a folder and a link to a folder outside, and a file and a link, a pipe and a hard link, as fast as it can.
 * Whoever swaps beside it can put a file where one of its names was, which then stays one: it begins afresh every 50
 * times. It opens without waiting, since a pipe at that name would hold it for good.
 */
const ATTACKER = String.raw`
  use strict; use POSIX; use File::Path; my ($outside, $n, $isSameUser) = @ARGV; my $begun = 0;
  while (1) {
    for ("l$n", "s$n", "p$n", "h$n", "x$n", "d") { unlink or File::Path::remove_tree($_, { error => \my $errors }) }
    mkdir "d"; mkdir "d/sub"; mkdir "d/gone"; symlink $outside, "l$n"; symlink "$outside/f0", "s$n";
    POSIX::mkfifo("p$n", 0666); link "$outside/f0", "h$n" unless $isSameUser;
    for (1 .. 50) {
      if (sysopen my $h, "d/f0", O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK) { print $h "mine"; close $h }
      mkdir "d/gone"; if (sysopen my $h, "d/gone/deep", O_WRONLY | O_CREAT | O_NONBLOCK) { close $h }
      rename "d", "x$n"; rename "l$n", "d"; select(undef, undef, undef, 0.0005);
      rename "d", "l$n"; rename "x$n", "d";
      rename "d/f0", "d/y$n"; rename "s$n", "d/f0"; select(undef, undef, undef, 0.0005); rename "d/f0", "s$n";
      rename "p$n", "d/f0"; rename "d/f0", "p$n";
      rename "h$n", "d/f0"; rename "d/f0", "h$n"; rename "d/y$n", "d/f0";
    }
    if (!$begun) { $begun = 1; $| = 1; print "begun\n" }
  }`;

async function makeOutside(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-outside-"));
  cleanUp(t, async () => {
    for (const name of ["", "sub", "gone"]) chmodSync(join(folder, name), 0o755);
    await rm(folder, { recursive: true, force: true });
  });
  for (const name of ["sub", "gone"]) mkdirSync(join(folder, name));
  for (const name of ["f0", "f1", "sub/deep", "gone/deep"])
    writeFileSync(join(folder, name), SECRET, { mode: 0o600 });
  for (const name of ["", "sub", "gone"]) chmodSync(join(folder, name), 0o755);
  return folder;
}

/** Owner, mode, both times, inode and content of everything in it; not how many names it has, which a link makes more. */
const fingerprint = (folder: string): unknown[] =>
  ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()].map((name) => {
    const stat = lstatSync(join(folder, name));
    const { uid, gid, mode, mtimeMs, ino } = stat;
    const content = stat.isFile()
      ? createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex")
      : null;
    return { name, uid, gid, mode, mtimeMs, ino, content };
  });

type Ask = <C extends FileCall>(call: C) => Promise<FileAnswers[C["op"]]>;
type Scene = TestSupervisor & { ask: Ask; code(call: FileCall): Promise<string>; owner: Owner | null };

async function startScene(t: TestContext, isolation: "process" | "namespace"): Promise<Scene> {
  const scene = await startTestSupervisor(t, isolation);
  // The supervisor gives the folder to the workspace's user when the first process begins.
  await scene.run(["true"]);
  const owner = ownerOf({ ...(await probeHere()), isolation }, scene.materializationId);
  if (owner !== null) await giveFolder(scene.root, owner);
  const files = new RunFiles({ root: scene.root, owner }, scene.dataDir);
  cleanUp(t, () => files.end());
  const answer = async (call: FileCall) => files.answer(call);
  return {
    ...scene,
    owner,
    async ask(call) {
      const given = await answer(call);
      if ("refusal" in given) throw Object.assign(new Error(given.refusal.message), given.refusal);
      return given.result as never;
    },
    async code(call) {
      const given = await answer(call);
      return "refusal" in given ? given.refusal.code : "answered";
    },
  };
}

const write = (path: string, text: string, mode: string | null = null) =>
  ({ op: "write", path, mode, bytes: base64(text), more: false }) as const;
const textOf = ({ bytes }: { bytes: string }): string => Buffer.from(bytes, "base64").toString();

for (const { isolation, skip } of await tiersHere()) {
  describe(`files of a run in the ${isolation} tier`, { skip }, () => {
    test("are written, read, listed and removed, and are the workspace's own", async (t) => {
      const { ask, run, owner, root } = await startScene(t, isolation);
      await ask(write("a/b/notes.txt", "héllo"));
      await ask(write("a/run.sh", "echo ran", "755"));
      assert.equal(textOf(await ask({ op: "read", path: "a/b/notes.txt" })), "héllo");
      const script = "echo more >> a/b/notes.txt && ./a/run.sh && rm a/run.sh && touch a/b/new";
      assert.equal((await run(sh(script))).stdout.toString(), "ran\n");
      const entries = await ask({ op: "list", path: "a/b" });
      assert.deepEqual(
        entries.map(({ path, kind, mode, size_bytes }) => [path, kind, mode, size_bytes]),
        [
          ["a/b/new", "file", entries[0]?.mode, 0],
          ["a/b/notes.txt", "file", "0644", 11],
        ],
      );
      assert.equal((await ask({ op: "stat", path: "a" })).kind, "directory");
      for (const path of ["a", "a/b", "a/b/notes.txt"])
        assert.equal(lstatSync(join(root, path)).uid, owner?.uid ?? process.getuid?.());
      await ask({ op: "remove", path: "a", recursive: true });
      assert.deepEqual(await ask({ op: "list", path: "" }), []);
    });

    test("large ones go piece by piece, and are there when they are whole", async (t) => {
      const { ask, root } = await startScene(t, isolation);
      const piece = base64("x".repeat(LIMITS.runFilePieceBytes));
      const { handle } = await ask({ op: "write", path: "large", mode: null, bytes: piece, more: true });
      assert.ok(handle !== null && !existsSync(join(root, "large")));
      await ask({ op: "write_on", handle, bytes: base64("end"), more: false });
      const first = await ask({ op: "read", path: "large" });
      assert.ok(first.handle !== null && first.bytes === piece);
      const last = await ask({ op: "read_on", handle: first.handle });
      assert.deepEqual([textOf(last), last.handle], ["end", null]);
    });

    test("what a program planted leads to no file of the machine", async (t) => {
      const outside = await makeOutside(t);
      const { ask, code, run, root, owner } = await startScene(t, isolation);
      const plant = `ln -s ${outside}/f0 link && ln -s ${outside} folder && mkfifo pipe && ln -s /dev/zero device && mkdir own`;
      assert.equal((await run(sh(plant))).exitCode, 0);
      // Where the kernel does not protect hard links, a program can make this one.
      if (owner !== null) linkSync(join(outside, "f1"), join(root, "hard"));
      symlinkSync("own", join(root, "inner"));
      const before = fingerprint(outside);
      assert.equal(await code({ op: "read", path: "link" }), "is_link");
      assert.equal(await code({ op: "read", path: "folder/f0" }), "is_link");
      assert.equal(await code({ op: "list", path: "folder" }), "is_link");
      assert.equal(await code({ op: "remove", path: "folder/f0", recursive: true }), "is_link");
      assert.equal(await code(write("folder/f0", "x")), "is_link");
      assert.equal(await code(write("folder/new", "x")), "is_link");
      assert.equal(await code({ op: "read", path: "pipe" }), "not_a_file");
      assert.equal(await code({ op: "read", path: "device" }), "is_link");
      assert.equal(await code({ op: "read", path: "own" }), "is_folder");
      assert.equal(await code(write("own", "x")), "is_folder");
      assert.equal(await code({ op: "read", path: "nothing" }), "not_found");
      assert.equal(await code({ op: "read", path: "link/x" }), "is_link");
      for (const path of [`../${outside}/f0`, "a/../../x", `${outside}/f0`, ".", ""])
        assert.notEqual(await code({ op: "read", path }), "answered", path);
      assert.equal(await code({ op: "read", path: "../x" }), "invalid_path");
      assert.equal((await ask({ op: "stat", path: "link" })).link_target, `${outside}/f0`);
      // Their names are taken, and what they led to is left alone.
      for (const path of ["link", "pipe", "device"]) await ask(write(path, "mine"));
      if (owner !== null) {
        assert.equal(await code({ op: "read", path: "hard" }), "not_permitted");
        await ask(write("hard", "mine"));
      }
      assert.equal(textOf(await ask({ op: "read", path: "link" })), "mine");
      await ask({ op: "remove", path: "folder", recursive: true });
      assert.deepEqual(fingerprint(outside), before);
    });

    test(
      "programs that swap folders for links meanwhile lead to no file of the machine",
      { timeout: 240_000 },
      async (t) => {
        const outside = await makeOutside(t);
        const scene = await startScene(t, isolation);
        const { ask, begin, readUntil, run } = scene;
        if (!(await run(["perl", "-e", "print 1"])).stdout.equals(Buffer.from("1")))
          return t.skip("no perl for the attacker");
        // Programs that are the agent's own user read and write what is outside themselves, so they are kept from writing:
        // a call that was led there would not be permitted either.
        const isSameUser = scene.owner === null && isolation === "process";
        if (isSameUser) {
          for (const name of ["f0", "f1", "sub/deep", "gone/deep"]) chmodSync(join(outside, name), 0o400);
          for (const name of ["sub", "gone", ""]) chmodSync(join(outside, name), 0o555);
        }
        const before = fingerprint(outside);
        const attackers = await Promise.all(
          [1, 2].map((n) => begin(["perl", "-e", ATTACKER, outside, String(n), isSameUser ? "1" : ""])),
        );
        await Promise.all(attackers.map((id) => readUntil(id, "begun")));
        const started = performance.now();
        const counts: Record<string, number> = {};
        const attempt = async (call: FileCall): Promise<void> => {
          const result = await ask(call).catch((error: Error & { code: string }) => error);
          const word = result instanceof Error ? result.code : "answered";
          counts[`${call.op} ${word}`] = (counts[`${call.op} ${word}`] ?? 0) + 1;
          assert.notEqual(word, "io_error", JSON.stringify(result));
          if (isSameUser) assert.notEqual(word, "not_permitted", JSON.stringify(call));
          assert.doesNotMatch(JSON.stringify(result), new RegExp(base64(SECRET)));
        };
        const met = (): number =>
          Object.entries(counts).reduce((sum, [name, n]) => (name.endsWith("is_link") ? sum + n : sum), 0);
        let rounds = 0;
        for (
          ;
          (rounds < ROUNDS || met() < FEWEST_LINKS) && performance.now() - started < LONGEST_MS;
          rounds += 1
        ) {
          await Promise.all([
            attempt({ op: "read", path: "d/f0" }),
            attempt({ op: "read", path: "d/sub/deep" }),
            attempt(write("d/f0", "written")),
            attempt(write(`d/sub/new`, "written")),
            attempt({ op: "list", path: "d" }),
            attempt({ op: "remove", path: "d/gone", recursive: true }),
            attempt({ op: "remove", path: "d/f0", recursive: false }),
          ]);
          if (rounds % 10 === 0) assert.deepEqual(fingerprint(outside), before, `round ${rounds}`);
        }
        assert.deepEqual(fingerprint(outside), before);
        t.diagnostic(`${rounds} rounds: ${JSON.stringify(counts)}`);
        assert.ok(rounds >= FEWEST_ROUNDS, `only ${rounds} rounds`);
        assert.ok(met() >= FEWEST_LINKS, `it met ${met()} links only`);
        assert.ok((counts["write answered"] ?? 0) > 0, "it never wrote");
      },
    );

    test("no staged file is left, and a run that has ended has no files", async (t) => {
      const { dataDir, root } = await startScene(t, isolation);
      const files = new RunFiles({ root, owner: null }, dataDir);
      await files.answer({ op: "write", path: "half", mode: null, bytes: base64("x"), more: true });
      await files.end();
      assert.deepEqual(
        readdirSync(dataDir).filter((name) => name.startsWith("staging-")),
        [],
      );
      assert.ok(!existsSync(join(root, "half")));
      assert.ok("refusal" in (await files.answer({ op: "list", path: "" })));
    });
  });
}
