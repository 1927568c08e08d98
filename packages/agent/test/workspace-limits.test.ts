import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import {
  assertEnded,
  BOMB,
  BOMB_WITHOUT_END,
  fill,
  FILL_DISK,
  FILL_FILE,
  FILL_MEMFD,
  FILL_OWN,
  FILL_UNNAMED,
  firstEnd,
  hasPerl,
} from "./support/attackers.ts";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";

const MIB = 1024 * 1024;
const PROCESSES = 1024;
/** bubblewrap and its init for each exec, and what tells them apart from none. */
const WRAPPERS = 8;

async function startAttacked(
  t: TestContext,
  ...[isolation, options]: Parameters<typeof startTestSupervisor> extends [unknown, ...infer R] ? R : never
) {
  const attacked = await startTestSupervisor(t, isolation, options);
  const other = await startTestSupervisor(t, isolation);
  const waiting = await other.begin(["sh", "-c", "echo begun; read line; echo unharmed"]);
  await other.readUntil(waiting, "begun");
  const isUnharmed = async (): Promise<void> => {
    await other.supervisor.writeInput(waiting, 0, Buffer.from("\n"), true);
    assert.equal((await other.collect(waiting)).stdout.toString(), "begun\nunharmed\n");
  };
  return { attacked, isUnharmed };
}

for (const { isolation, skip } of await tiersHere()) {
  describe(`a workspace in the ${isolation} tier`, { skip }, () => {
    test("has so many processes in three execs together as it may have, and no other feels it", async (t) => {
      const { attacked, isUnharmed } = await startAttacked(t, isolation);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const bombs = await Promise.all([1, 2, 3].map(() => attacked.begin(["perl", "-e", BOMB])));
      const settled = bombs.map(async (id) =>
        attacked.readUntil(id, "forked").catch(() => attacked.collect(id)),
      );
      const ends = await Promise.all(settled);
      // Who was over the limit at the last look is ended by the next.
      const patience = Date.now() + 10_000;
      let count = attacked.left().length;
      while (count > PROCESSES + WRAPPERS && Date.now() < patience) count = attacked.left().length;
      t.diagnostic(
        `${count} processes left; ${ends.map((end) => (typeof end === "string" ? end.trim() : end.error)).join(" | ")}`,
      );
      assert.ok(count <= PROCESSES + WRAPPERS, `${count} processes`);
      for (const end of ends)
        if (typeof end !== "string") assert.match(end.error ?? "", /its limit is 1024|may have/);
      await isUnharmed();
    });

    test("says why a command fails when others have just taken all processes", async (t) => {
      if (isolation === "process" && process.getuid?.() !== 0)
        return t.skip("only the watch limits processes here, and it ends who has them all");
      const attacked = await startTestSupervisor(t, isolation);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const bomb = await attacked.begin(["perl", "-e", BOMB_WITHOUT_END]);
      await attacked.readUntil(bomb, "full");
      const { outcome, exitCode, error } = await attacked.run(["sh", "-c", "true & wait; exit 1"]);
      t.diagnostic(`${outcome} ${exitCode}: ${error}`);
      assert.notEqual(exitCode, 0);
      assert.match(error ?? "", /all of the 1024 processes and threads that (it|the workspace) may have/);
      await attacked.supervisor.control(bomb, {
        sequence: 1,
        kind: "close",
        signal: null,
        cols: null,
        rows: null,
      });
      await attacked.collect(bomb);
      assert.equal((await attacked.run(["sh", "-c", "exit 1"])).error, null);
    });

    test("has its memory in three execs together", async (t) => {
      const { attacked, isUnharmed } = await startAttacked(t, isolation, {
        surroundings: { resources: { cpu: null, memory: 128 } },
      });
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const first = await Promise.all([1, 2, 3].map(() => fill(attacked, FILL_OWN, 70)));
      const ended = first.find((one) => one.ended !== null)?.ended ?? (await firstEnd(attacked, first));
      assertEnded(ended, /together used \d+ MiB of memory, and its sandbox allows 128 MiB/);
      await isUnharmed();
    });

    test("has no more memory by a file that has no name and is mapped by nobody", async (t) => {
      const { attacked, isUnharmed } = await startAttacked(t, isolation, {
        surroundings: { resources: { cpu: null, memory: 128 } },
      });
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const { ended } = await fill(attacked, FILL_MEMFD, 1024);
      assert.ok(ended !== null, "1 GiB was filled");
      assertEnded(ended, /its sandbox allows 128 MiB/);
      t.diagnostic(ended.error ?? "");
      assert.equal((await attacked.run(["true"])).exitCode, 0);
      await isUnharmed();
    });

    test("has no more disk than it may, loses nothing, and can delete files", async (t) => {
      const { attacked, isUnharmed } = await startAttacked(t, isolation, { limits: { diskBytes: 64 * MIB } });
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const filled = await fill(attacked, FILL_DISK, 40);
      assertEnded(
        filled.ended ?? (await attacked.collect(filled.id)),
        /take \d+ MiB of disk, and the worker allows 64 MiB/,
      );
      const kept = readdirSync(attacked.root).length;
      assert.ok(kept >= 16, `${kept} files`);
      const refused = await attacked.run(["sh", "-c", "echo more > more"]);
      assert.notEqual(refused.exitCode, 0);
      assert.match(refused.error ?? "", /Delete files/);
      assert.equal(
        (await attacked.run(["sh", "-c", "cat part-1 | wc -c"])).stdout.toString().trim(),
        String(4 * MIB),
      );
      assert.equal((await attacked.run(["sh", "-c", "rm part-*"])).exitCode, 0);
      await writesAgain(attacked);
      await isUnharmed();
    });

    test("has no more disk by files that are deleted while they are open", async (t) => {
      const { attacked } = await startAttacked(t, isolation, { limits: { diskBytes: 64 * MIB } });
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const filled = await fill(attacked, FILL_UNNAMED, 60);
      const other = await fill(attacked, FILL_UNNAMED, 60);
      assertEnded(other.ended ?? (await firstEnd(attacked, [filled, other])), /the worker allows 64 MiB/);
    });

    if (isolation === "namespace")
      for (const folder of ["/tmp", "/dev/shm"])
        test(`has its memory in the ${folder} of all execs together`, async (t) => {
          const { attacked, isUnharmed } = await startAttacked(t, isolation, {
            surroundings: { resources: { cpu: null, memory: 128 } },
          });
          if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
          const all = await Promise.all([1, 2, 3].map(() => fill(attacked, FILL_FILE, `${folder}/x`, 60)));
          const ended = all.find((one) => one.ended !== null)?.ended ?? (await firstEnd(attacked, all));
          assertEnded(ended, /its sandbox allows 128 MiB/);
          await isUnharmed();
        });
  });
}

/** The next walk sees that there is room. */
async function writesAgain({ run }: TestSupervisor): Promise<void> {
  const end = Date.now() + 30_000;
  while (Date.now() < end) {
    const { exitCode } = await run(["sh", "-c", "echo more > more; sleep 0.3"]);
    if (exitCode === 0) return;
  }
  assert.fail("the workspace cannot be written again");
}
