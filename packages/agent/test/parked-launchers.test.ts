// What the next exec of a workspace runs in is set up ahead of it, and the program sees no difference.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { describe, test } from "node:test";
import { findMarked, sendSignal } from "../src/sandboxes/find-processes.ts";
import { launcherShell, PARKED_ID } from "../src/supervisor/parked-launcher.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";
import { letPass, until } from "../../server/test/support/until.ts";

const ODD = ["it's", 'a "b"', "$HOME `x`", "two\nlines", "", "-n", "é\\", "*"];
const LOOK = [
  "for word; do printf '[%s]' \"$word\"; done; echo",
  "tr '\\0' '\\n' < /proc/$$/environ | grep -v ^KEELSON_ | sort",
  "ls /proc/$$/fd; umask; pwd; ulimit -a; grep -E 'SigIgn|Cap|Seccomp|NoNew|Groups|Uid' /proc/$$/status; cat",
].join("; ");

const parkedOf = ({ materializationId }: TestSupervisor): number[] =>
  findMarked({ owner: materializationId, processId: PARKED_ID, uid: null });

/** Resolves when one can be taken. @returns its processes. */
async function parked(scene: TestSupervisor): Promise<number[]> {
  await until("a launcher to be parked", 60_000, async () => parkedOf(scene).length > 0);
  await letPass(200, "it is there a moment before it has said that it waits");
  return parkedOf(scene);
}

const programsOf = ({ dataDir, materializationId }: TestSupervisor): string[] =>
  readdirSync(supervisorFolder(dataDir, materializationId)).filter((name) => name.startsWith("program-"));

test("a launcher says that it is ready at the end of its file, and without a word it runs nothing", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-launcher-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "file");
  execFileSync("mkfifo", [path]);
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const [program, ...args] = launcherShell(3, 4) as [string, ...string[]];
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit", file, "pipe"] });
  closeSync(file);
  const exited = once(child, "exit");
  const word = child.stdio[4] as Duplex;
  // The end of the file comes when this is written and closed.
  const written = writeFile(path, "echo first >&4\necho second >&4\n");
  let said = "";
  for await (const bytes of word) {
    said += String(bytes);
    if (said.endsWith("ready\n")) break;
  }
  await written;
  assert.equal(said, "first\nsecond\nready\n");
  // Leaving the loop has closed the pipe.
  const [code] = await exited;
  assert.notEqual(code, 0);
});

for (const { isolation, skip } of await tiersHere())
  describe(`parked launchers in the ${isolation} tier`, { skip, timeout: 60_000 }, () => {
    test("an exec takes the place of one, and sees what it would see without", async (t) => {
      const scene = await startTestSupervisor(t, isolation, {
        surroundings: { env: { OF_THE_SANDBOX: "1" } },
      });
      const look = async (cwd: string, more: Record<string, string>) => {
        const env = { ODD: ODD.join("|"), LD_LIBRARY_PATH: "/nowhere", ...more };
        const { exitCode, stdout, stderr } = await scene.run(["sh", "-c", LOOK, "sh", ...ODD], {
          ...{ cwd, env, input: "in" },
        });
        return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
      };
      // A shell can set the first, and not the others.
      for (const more of [{ empty: "" }, { "no.name": "2" }, { PPID: "odd", OPTIND: "7" }] as const) {
        const before = await parked(scene);
        const ahead = await look("", more);
        assert.deepEqual([ahead.exitCode, ahead.stderr], [0, ""]);
        assert.ok(ahead.stdout.startsWith(ODD.map((word) => `[${word}]`).join("")));
        assert.ok(ahead.stdout.endsWith("in"));
        const after = await parked(scene);
        assert.deepEqual(
          before.filter((pid) => after.includes(pid)),
          [],
        );
        // In any other folder than the workspace's own an exec is not parked for.
        assert.deepEqual(await look(".", more), ahead);
        assert.deepEqual(parkedOf(scene), after);
      }
    });

    test("what cannot be started, or fails, says so as ever", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      for (const command of [["no-such-program"], ["sh", "-c", "exit 3"], ["sh", "-c", "kill -9 $$"]]) {
        await parked(scene);
        const ahead = await scene.run(command);
        const now = await scene.run(command, { cwd: "." });
        const ends = ({ outcome, exitCode, signal, error }: typeof now) => ({
          outcome,
          exitCode,
          signal,
          error,
        });
        assert.deepEqual(ends(ahead), ends(now));
      }
    });

    test("one that was killed is in nobody's way", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      for (const pid of await parked(scene)) sendSignal(pid, "SIGKILL");
      await letPass(50, "the supervisor hears of its end by then");
      const { exitCode, stdout } = await scene.run(["echo", "runs"]);
      assert.deepEqual([exitCode, stdout.toString()], [0, "runs\n"]);
    });

    test("one is left by nobody: not by an exec, and not by the end of the workspace", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      for (let n = 0; n < 3; n += 1) {
        await parked(scene);
        assert.equal((await scene.run(["true"], { env: { SECRET: "s" } })).exitCode, 0);
      }
      await parked(scene);
      assert.equal(programsOf(scene).length, 1);
      await scene.supervisor.stop();
      assert.deepEqual(parkedOf(scene), []);
    });
  });
