import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { RECORD_FILE, supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";

const sh = (script: string): string[] => ["sh", "-c", script];

/** Resident memory of a process, in bytes. */
function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1]) * 1024;
}

for (const { isolation, skip } of await tiersHere()) {
  describe(`input and output of execs in the ${isolation} tier`, { skip }, () => {
    test("input is taken by offset: repeats are dropped, gaps are refused, the end is the end", async (t) => {
      const { supervisor, begin, collect } = await startTestSupervisor(t, isolation);
      const id = await begin(["cat"]);
      const send = (offset: number, text: string, closed = false) =>
        supervisor.writeInput(id, offset, Buffer.from(text), closed);
      assert.equal(await send(0, "abc"), 3);
      assert.equal(await send(0, "abc"), 3);
      assert.equal(await send(9, "gap"), 3);
      assert.equal(await send(2, "cdef"), 6);
      assert.deepEqual((await supervisor.list())[0], {
        ...{ id, kind: "exec", inputOffset: 6, inputClosed: false, controlSequence: 0, exit: null },
      });
      assert.equal(await send(6, "", true), 6);
      assert.equal((await collect(id)).stdout.toString(), "abcdef");
    });

    test("bytes come back as they were sent", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      const bytes = randomBytes(700_000);
      const { stdout } = await run(["cat"], { input: bytes });
      assert.ok(stdout.equals(bytes));
    });

    test("a program that does not read holds nobody up, and is sent a bounded amount", async (t) => {
      const { supervisor, begin } = await startTestSupervisor(t, isolation);
      const id = await begin(["sleep", "1000"]);
      const part = Buffer.alloc(256 * 1024);
      let taken = 0;
      for (let sent = 0; sent < 40; sent += 1) taken = await supervisor.writeInput(id, taken, part, false);
      assert.ok(taken < 4 * 1024 * 1024, `${taken} bytes were taken`);
      assert.equal((await supervisor.list())[0]?.inputOffset, taken);
    });

    // In the namespace tier bubblewrap keeps the other end open until the program ends.
    const skipClosed = isolation === "namespace" && "bubblewrap keeps the input open";
    test("input for a program that closed its end is taken and dropped", { skip: skipClosed }, async (t) => {
      const { supervisor, begin, readUntil, collect } = await startTestSupervisor(t, isolation);
      const id = await begin(sh("exec 0<&-; echo closed; sleep 1000"));
      await readUntil(id, "closed");
      const part = Buffer.alloc(256 * 1024);
      let taken = 0;
      while (taken < 8 * 1024 * 1024) taken = await supervisor.writeInput(id, taken, part, false);
      await supervisor.end(id);
      assert.equal((await collect(id)).outcome, "cancelled");
    });

    test("what is not read holds the program up; nothing is lost, and memory stays flat", async (t) => {
      const megabytes = 200;
      const { begin, supervisor, dataDir, materializationId, root } = await startTestSupervisor(t, isolation);
      const path = join(supervisorFolder(dataDir, materializationId), RECORD_FILE);
      const { pid } = JSON.parse(readFileSync(path, "utf8")) as { pid: number };
      const id = await begin(sh(`dd if=/dev/zero bs=1M count=${megabytes} 2>/dev/null; touch done`));
      const after = { stdout: 0, stderr: 0, output: 0 };
      let highest = 0;
      let agent = 0;
      const agentBefore = process.memoryUsage().arrayBuffers;
      for (;;) {
        const { chunks, exit } = await supervisor.readOutput(id, after);
        for (const { stream, offset, data } of chunks) {
          assert.equal(offset, after[stream]);
          after[stream] += data.length;
        }
        highest = Math.max(highest, residentBytes(pid));
        agent = Math.max(agent, process.memoryUsage().arrayBuffers - agentBefore);
        if (exit !== null) break;
      }
      assert.equal(after.stdout, megabytes * 1024 * 1024);
      assert.ok(readFileSync(join(root, "done")).length === 0);
      assert.ok(highest < 180 * 1024 * 1024, `the supervisor grew to ${highest} bytes`);
      assert.ok(agent < 100 * 1024 * 1024, `the agent held ${agent} bytes`);
    });

    test("a flood that nobody reads waits, and goes on when it is read", async (t) => {
      const { begin, collect, supervisor, root, run } = await startTestSupervisor(t, isolation);
      await writeFile(join(root, "count"), "0");
      const id = await begin(sh("for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero; done; echo end"));
      // Others run meanwhile, which is also the time that the flood has.
      for (let other = 0; other < 5; other += 1) assert.equal((await run(["true"])).exitCode, 0);
      assert.equal((await supervisor.list()).find((process) => process.id === id)?.exit, null);
      const { stdout } = await collect(id);
      assert.equal(stdout.length, 8_000_004);
      assert.ok(stdout.subarray(-4).equals(Buffer.from("end\n")));
    });

    test("the last byte is there before the exit, however the program ends", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      for (let round = 0; round < 10; round += 1) {
        const { stdout, signal } = await run(sh("head -c 300000 /dev/zero; printf last; kill -KILL $$"));
        assert.equal(signal, "SIGKILL");
        assert.equal(stdout.length, 300_004);
      }
    });

    test("a read that is given up has nothing, and the next has all", async (t) => {
      const { supervisor, begin, collect } = await startTestSupervisor(t, isolation);
      const id = await begin(["cat"]);
      const after = { stdout: 0, stderr: 0, output: 0 };
      const abort = new AbortController();
      const reading = supervisor.readOutput(id, after, abort.signal);
      abort.abort();
      assert.deepEqual(await reading, { chunks: [], exit: null });
      await supervisor.writeInput(id, 0, Buffer.from("x"), true);
      assert.equal((await collect(id)).stdout.toString(), "x");
    });
  });
}
