import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL, fileURLToPath } from "node:url";
import { adoptSupervisor, startSupervisor } from "../src/supervisor/supervisor.ts";
import { SupervisorGoneError } from "../src/supervisor/supervisor-connection.ts";
import { RECORD_FILE, SOCKET_FILE, supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { hasEnded, isAlive } from "./support/alive.ts";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";
import { until } from "../../server/test/support/until.ts";

const sh = (script: string): string[] => ["sh", "-c", script];
/** In the background, out of the group and the session, and with no parent that waits for it. */
const DAEMON = "(setsid sh -c 'setsid sleep 1000 & exec sleep 1000' >/dev/null 2>&1 &)";

const folderOf = ({ dataDir, materializationId }: TestSupervisor): string =>
  supervisorFolder(dataDir, materializationId);
const pidOf = (scene: TestSupervisor): number =>
  (JSON.parse(readFileSync(join(folderOf(scene), RECORD_FILE), "utf8")) as { pid: number }).pid;
const nothingIsLeft = (scene: TestSupervisor): Promise<void> =>
  until("nothing of the workspace to be left", 60_000, async () => scene.left().length === 0);

for (const { isolation, skip } of await tiersHere()) {
  describe(`a supervisor in the ${isolation} tier`, { skip }, () => {
    test("signals reach the program and its children; controls are obeyed once", async (t) => {
      const { supervisor, begin, readUntil, collect } = await startTestSupervisor(t, isolation);
      const id = await begin(
        sh("trap 'echo usr1' USR1; trap 'echo term; exit 3' TERM; echo ready; while :; do sleep 0.05; done"),
      );
      await readUntil(id, "ready");
      const send = (sequence: number, signal: "SIGUSR1" | "SIGTERM") =>
        supervisor.control(id, { sequence, kind: "signal", signal, cols: null, rows: null });
      await send(1, "SIGUSR1");
      await readUntil(id, "usr1");
      await send(1, "SIGTERM");
      await send(2, "SIGTERM");
      const { stdout, exitCode, outcome } = await collect(id);
      assert.deepEqual(
        { outcome, exitCode, stdout: stdout.toString() },
        { outcome: "exited", exitCode: 3, stdout: "ready\nusr1\nterm\n" },
      );
    });

    test("a signal that ends a program is its end", async (t) => {
      const { supervisor, begin, collect } = await startTestSupervisor(t, isolation);
      for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
        const id = await begin(["sleep", "1000"]);
        await supervisor.control(id, { sequence: 1, kind: "signal", signal, cols: null, rows: null });
        const ended = await collect(id);
        assert.deepEqual([ended.outcome, ended.exitCode, ended.signal], ["exited", null, signal]);
      }
    });

    test("what a program leaves behind ends with it", async (t) => {
      const { run, left } = await startTestSupervisor(t, isolation);
      const { stdout, exitCode } = await run(sh(`${DAEMON}; sleep 0.1; echo done`));
      assert.deepEqual([stdout.toString(), exitCode], ["done\n", 0]);
      assert.deepEqual(left(), []);
    });

    test("stop ends everything, daemons too, and nothing is left of the supervisor", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const ids = [
        await scene.begin(sh(`${DAEMON}; trap '' TERM HUP INT; echo ready; while :; do sleep 0.05; done`)),
        await scene.begin(null, { id: "pty_1", kind: "pty", cols: 80, rows: 24 }),
      ];
      await scene.readUntil(ids[0] as string, "ready");
      await until("both programs and the daemon to run", 60_000, async () => scene.left().length >= 4);
      const pid = pidOf(scene);
      await scene.supervisor.stop();
      assert.deepEqual(scene.left(), []);
      await hasEnded(pid);
      assert.equal(existsSync(folderOf(scene)), false);
      await scene.supervisor.gone;
      await assert.rejects(scene.supervisor.list(), SupervisorGoneError);
    });

    test("end cancels an exec; the rest of its output and the exit are read", async (t) => {
      const { supervisor, begin, readUntil, collect } = await startTestSupervisor(t, isolation);
      const id = await begin(sh("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
      await readUntil(id, "ready");
      await supervisor.end(id);
      const { outcome, stdout } = await collect(id);
      assert.deepEqual([outcome, stdout.toString()], ["cancelled", "ready\nbye\n"]);
    });

    test("the next process of the agent goes on with what the supervisor kept", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const id = await scene.begin(["cat"]);
      await scene.supervisor.writeInput(id, 0, Buffer.from("one"), false);
      await scene.readUntil(id, "one");
      scene.supervisor.release();
      await scene.supervisor.gone;
      const next = await adoptSupervisor(scene);
      assert.ok(next);
      assert.equal((await next.list())[0]?.inputOffset, 3);
      await next.writeInput(id, 3, Buffer.from("two"), true);
      // What the former one read and never said to be stored is there again.
      const after = { stdout: 0, stderr: 0, output: 0 };
      let text = "";
      for (;;) {
        const { chunks, exit } = await next.readOutput(id, after);
        for (const { data } of chunks) text += data.toString();
        after.stdout = text.length;
        if (exit !== null) break;
      }
      assert.equal(text, "onetwo");
      await next.stop();
    });

    test("it survives the death of its agent, and ends with everything when no other comes", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const entry = fileURLToPath(new URL("./support/supervisor-owner.ts", import.meta.url));
      const place = { dataDir: join(scene.dataDir, "other"), isolation };
      const owner = spawn(process.execPath, ["--conditions=@keelson/source", entry, JSON.stringify(place)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const words = await new Promise<string>((resolve) =>
        owner.stdout.once("data", (data: Buffer) => resolve(data.toString())),
      );
      const { materializationId, pid, program } = JSON.parse(words) as {
        materializationId: string;
        pid: number;
        program: number;
      };
      owner.kill("SIGKILL");
      await new Promise((resolve) => owner.once("exit", resolve));
      const adopted = await adoptSupervisor({ dataDir: place.dataDir, materializationId });
      assert.ok(adopted, "it is alive without its agent");
      assert.ok(isAlive(program));
      assert.equal((await adopted.list()).length, 1);
      adopted.release();
      await hasEnded(pid);
      assert.equal(isAlive(program), false);
      assert.equal(existsSync(supervisorFolder(place.dataDir, materializationId)), false);
    });

    test("what was prepared does not run before it is started, and not at all when it is dropped", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const { supervisor, collect, root } = scene;
      const whole = { kind: "exec" as const, cwd: "", env: {}, timeoutMs: null, cols: null, rows: null };
      const specOf = (id: string) => ({ ...whole, id, command: sh(`echo ${id} >> ran; echo ${id}`) });
      for (const id of ["started", "dropped", "forsaken"]) await supervisor.prepare(specOf(id));
      assert.deepEqual(await supervisor.list(), [], "nothing of it is seen");
      await supervisor.drop("dropped");
      await supervisor.start(specOf("started"));
      assert.equal((await collect("started")).stdout.toString(), "started\n");
      supervisor.release();
      await supervisor.gone;
      const next = await adoptSupervisor(scene);
      assert.ok(next);
      await nothingIsLeft(scene);
      assert.deepEqual(await next.list(), []);
      await next.prepare(specOf("stopped"));
      await next.stop();
      assert.deepEqual(scene.left(), []);
      assert.equal(readFileSync(join(root, "ran"), "utf8"), "started\n");
    });

    test("what was prepared does not run when its supervisor is killed", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const whole = { kind: "exec" as const, cwd: "", env: {}, timeoutMs: null, cols: null, rows: null };
      await scene.supervisor.prepare({ ...whole, id: "held", command: sh("echo ran > ran; sleep 1000") });
      const held = isolation === "namespace" ? 1 : 0;
      await until("the prepared program to be held", 60_000, async () => scene.left().length >= held);
      process.kill(pidOf(scene), "SIGKILL");
      await scene.supervisor.gone;
      await nothingIsLeft(scene);
      assert.equal(existsSync(join(scene.root, "ran")), false);
    });

    test("when the supervisor is killed, nothing of what it ran survives the look for it", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const id = await scene.begin(sh(`${DAEMON}; echo ready; sleep 1000`));
      await scene.readUntil(id, "ready");
      process.kill(pidOf(scene), "SIGKILL");
      await scene.supervisor.gone;
      await assert.rejects(
        scene.supervisor.readOutput(id, { stdout: 6, stderr: 0, output: 0 }),
        SupervisorGoneError,
      );
      assert.equal(await adoptSupervisor(scene), null);
      assert.deepEqual(scene.left(), []);
      assert.equal(existsSync(folderOf(scene)), false);
    });

    test("nobody but the agent's user may speak to it", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const { mode } = await stat(join(folderOf(scene), SOCKET_FILE));
      assert.equal(mode & 0o777, 0o600);
      assert.equal((await stat(folderOf(scene))).mode & 0o777, 0o700);
    });

    test("a data folder with a very long name is no obstacle", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const dataDir = join(scene.dataDir, "long".repeat(30));
      const place = { dataDir, materializationId: "mat_long" };
      const surroundings = { isolation, root: scene.root, env: {}, resources: { cpu: null, memory: null } };
      const network = isolation === "namespace" ? "off" : "on";
      const supervisor = await startSupervisor({ ...place, surroundings: { ...surroundings, network } });
      assert.deepEqual(await supervisor.list(), []);
      await supervisor.stop();
    });
  });
}

test("where nothing was left there is nothing to adopt", async () => {
  const dataDir = fileURLToPath(new URL("./nothing-here", pathToFileURL(import.meta.filename)));
  assert.equal(await adoptSupervisor({ dataDir, materializationId: "mat_none" }), null);
});
