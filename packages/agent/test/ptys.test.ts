import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";
import { until } from "../../server/test/support/until.ts";

type Size = { cols?: number; rows?: number };

/** A terminal with the program; what is typed into it goes by `type`. */
async function open(
  { begin, supervisor }: TestSupervisor,
  command: string[] | null,
  { cols = 80, rows = 24 }: Size = {},
) {
  const id = await begin(command, { id: `pty_${randomUUID()}`, kind: "pty", cols, rows });
  let offset = 0;
  let sequence = 0;
  let turn = Promise.resolve();
  return {
    id,
    /** One after the other, also when nobody waits for the one before. */
    type(bytes: string | Buffer): Promise<void> {
      turn = turn.then(async () => {
        offset = await supervisor.writeInput(id, offset, Buffer.from(bytes), false);
      });
      return turn;
    },
    async resize(width: number, height: number): Promise<void> {
      sequence += 1;
      await supervisor.control(id, { sequence, kind: "resize", signal: null, cols: width, rows: height });
    },
    async close(): Promise<void> {
      sequence += 1;
      await supervisor.control(id, { sequence, kind: "close", signal: null, cols: null, rows: null });
    },
  };
}

for (const { isolation, skip } of await tiersHere()) {
  describe(`terminals in the ${isolation} tier`, { skip }, () => {
    test("a shell has a terminal of the size asked for, and learns of another", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, null, { cols: 101, rows: 31 });
      await pty.type("stty size; echo TERM=$TERM; test -t 0 && echo is-$((40+2))-terminal\n");
      const first = await scene.readUntil(pty.id, "is-42-terminal");
      assert.match(first, /31 101/);
      assert.match(first, /TERM=xterm-256color/);
      await pty.resize(77, 22);
      await pty.type("stty size; echo resized-$((1+1))\n");
      assert.match(await scene.readUntil(pty.id, "resized-2"), /22 77/);
      await pty.type("exit 5\n");
      const { outcome, exitCode } = await scene.collect(pty.id);
      assert.deepEqual({ outcome, exitCode }, { outcome: "exited", exitCode: 5 });
    });

    test("bytes that are no text are kept exactly, both ways", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, ["sh", "-c", "stty raw -echo; echo ready; head -c 256 | cat"]);
      await scene.readUntil(pty.id, "ready");
      const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await pty.type(all);
      const { output } = await scene.collect(pty.id);
      assert.ok(output.subarray(-256).equals(all), output.toString("hex"));
    });

    test("a shell has job control, and an interrupt ends what is in front and not the shell", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, null);
      // Said by what is in front itself: before that the shell could take the interrupt for its own.
      await pty.type("sh -c 'echo front-$((1+1)); exec sleep 1000'\n");
      await scene.readUntil(pty.id, "front-2");
      await pty.type("\x03");
      await pty.type("echo after-$((2+2))\n");
      await scene.readUntil(pty.id, "after-4");
      await pty.type("exit\n");
      assert.equal((await scene.collect(pty.id)).outcome, "exited");
    });

    test("a program of its own handles an interrupt itself", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done";
      const pty = await open(scene, ["bash", "-c", script]);
      await scene.readUntil(pty.id, "ready");
      await pty.type("\x03");
      const { output, exitCode } = await scene.collect(pty.id);
      assert.match(output.toString(), /caught/);
      assert.equal(exitCode, 9);
    });

    test("close hangs up: the shell, its jobs, and what ignores it", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, null);
      await pty.type("(trap '' HUP; sleep 1000) & setsid sleep 1000 & sleep 1000 & echo jobs-$((1+1))\n");
      await scene.readUntil(pty.id, "jobs-2");
      await until("the shell and its jobs to run", 60_000, async () => scene.left().length >= 4);
      await pty.close();
      await pty.close();
      const { outcome } = await scene.collect(pty.id);
      assert.equal(outcome, "closed");
      assert.deepEqual(scene.left(), []);
    });

    test("a program that floods its terminal waits for the reader, and its last line is there", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, [
        "sh",
        "-c",
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the-end",
      ]);
      // Nothing is read until others have run.
      for (let other = 0; other < 3; other += 1) assert.equal((await scene.run(["true"])).exitCode, 0);
      const states = await scene.supervisor.list();
      assert.equal(states.find(({ id }) => id === pty.id)?.exit, null);
      const { output } = await scene.collect(pty.id);
      assert.equal(output.filter((byte) => byte === 0x78).length, 3_000_000);
      assert.ok(output.toString("latin1").endsWith("the-end\r\n"));
    });

    test("the output of a short program is whole", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      for (let round = 0; round < 10; round += 1) {
        const pty = await open(scene, ["sh", "-c", "seq 1 2000"]);
        const { output } = await scene.collect(pty.id);
        assert.ok(output.toString().endsWith("1999\r\n2000\r\n"));
      }
    });

    test("a program that is not there is told as such", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const pty = await open(scene, ["no-such-program"]);
      const { outcome, error } = await scene.collect(pty.id);
      assert.equal(outcome, "failed");
      assert.match(error ?? "", /^"no-such-program" could not be started: /);
    });
  });
}
