import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { Isolation } from "@keelson/contract";
import {
  assertEnded,
  BOMB,
  BOMB_WITHOUT_END,
  fill,
  FILL_FILE,
  FILL_MEMFD,
  FILL_OWN,
  firstEnd,
  hasPerl,
} from "./support/attackers.ts";
import {
  noControllers,
  noCpuController,
  openRealCgroups,
  openServiceCgroups,
} from "./support/real-cgroups.ts";
import { startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";

const PROCESSES = 256;
const OVER_MEMORY = /reached the 128 MiB of memory that its sandbox allows \(resources\.memory\)/;
const MIB = 1024 * 1024;

/** A workspace that is attacked, beside one that must not feel it. */
async function startAttacked(t: TestContext, isolation: Isolation, memory: number | null = null) {
  const cgroups = openRealCgroups(t);
  const attacked = await startTestSupervisor(t, isolation, {
    ...{ cgroups, limits: { processes: PROCESSES }, surroundings: { resources: { cpu: null, memory } } },
  });
  const other = await startTestSupervisor(t, isolation, { cgroups });
  const waiting = await other.begin(["sh", "-c", "echo begun; read line; echo unharmed"]);
  await other.readUntil(waiting, "begun");
  const assertNobodyElseFeltIt = async (): Promise<void> => {
    assert.equal((await attacked.run(["true"])).exitCode, 0);
    await other.supervisor.writeInput(waiting, 0, Buffer.from("\n"), true);
    assert.equal((await other.collect(waiting)).stdout.toString(), "begun\nunharmed\n");
    for (const { supervisor } of [attacked, other]) await supervisor.stop();
    assert.deepEqual(
      readdirSync(cgroups.folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()),
      [],
    );
  };
  return { attacked, assertNobodyElseFeltIt };
}

const close = { sequence: 1, kind: "close", signal: null, cols: null, rows: null } as const;

for (const { isolation, skip } of await tiersHere()) {
  describe(`the kernel holds a workspace in the ${isolation} tier`, { skip: noControllers || skip }, () => {
    test("to its processes in three execs together", async (t) => {
      const { attacked, assertNobodyElseFeltIt } = await startAttacked(t, isolation);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const bombs = await Promise.all([1, 2, 3].map(() => attacked.begin(["perl", "-e", BOMB])));
      const told = await Promise.all(bombs.map((id) => attacked.readUntil(id, "forked")));
      const count = attacked.left().length;
      t.diagnostic(`${count} processes: ${told.map((line) => line.trim()).join(", ")}`);
      assert.ok(count <= PROCESSES, `${count} processes`);
      for (const id of bombs) await attacked.supervisor.control(id, close);
      for (const id of bombs) await attacked.collect(id);
      await assertNobodyElseFeltIt();
    });

    test("to its processes, and a command that has none is told so however many execs wait", async (t) => {
      const { attacked } = await startAttacked(t, isolation);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      for (const _ of Array(5)) await attacked.begin(["sleep", "1000"]);
      const bomb = await attacked.begin(["perl", "-e", BOMB_WITHOUT_END]);
      await attacked.readUntil(bomb, "full");
      const { exitCode, error } = await attacked.run(["sh", "-c", "true & wait; exit 1"]);
      t.diagnostic(`${exitCode}: ${error}`);
      assert.notEqual(exitCode, 0);
      assert.match(error ?? "", /all of the 256 processes and threads that (it|the workspace) may have/);
    });

    test("to its memory in three execs together", async (t) => {
      const { attacked, assertNobodyElseFeltIt } = await startAttacked(t, isolation, 128);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const all = await Promise.all([1, 2, 3].map(() => fill(attacked, FILL_OWN, 70)));
      assertEnded(
        all.find(({ ended }) => ended !== null)?.ended ?? (await firstEnd(attacked, all)),
        OVER_MEMORY,
      );
      await assertNobodyElseFeltIt();
    });

    test("to its memory by a file that has no name and is mapped by nobody", async (t) => {
      const { attacked, assertNobodyElseFeltIt } = await startAttacked(t, isolation, 128);
      if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
      const { ended } = await fill(attacked, FILL_MEMFD, 256);
      assert.ok(ended !== null, "256 MiB were filled");
      assertEnded(ended, OVER_MEMORY);
      await assertNobodyElseFeltIt();
    });

    for (const folder of isolation === "namespace" ? ["/tmp", "/dev/shm"] : [])
      test(`to its memory by ${folder} of all execs together`, async (t) => {
        const { attacked, assertNobodyElseFeltIt } = await startAttacked(t, isolation, 128);
        if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
        const all = await Promise.all([1, 2, 3].map(() => fill(attacked, FILL_FILE, `${folder}/x`, 60)));
        assertEnded(
          all.find(({ ended }) => ended !== null)?.ended ?? (await firstEnd(attacked, all)),
          OVER_MEMORY,
        );
        await assertNobodyElseFeltIt();
      });

    test("to a part of a core", { skip: noCpuController }, async (t) => {
      const cgroups = openRealCgroups(t);
      const { begin, collect, materializationId } = await startTestSupervisor(t, isolation, {
        ...{ cgroups, surroundings: { resources: { cpu: 0.25, memory: null } } },
      });
      const usedMs = (): number => {
        const stat = readFileSync(join(cgroups.folder, materializationId, "cpu.stat"), "latin1");
        return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1]) / 1000;
      };
      const [startedAt, before] = [performance.now(), usedMs()];
      const spin = ["sh", "-c", "while :; do :; done"];
      const all = await Promise.all([1, 2].map(() => begin(spin, { timeoutMs: 3_000 })));
      await Promise.all(all.map(collect));
      const part = (usedMs() - before) / (performance.now() - startedAt);
      t.diagnostic(`${part.toFixed(2)} of a core`);
      assert.ok(part > 0 && part < 0.35, String(part));
    });

    for (const memory of [null, 1024])
      test(`and says that the service had no more, when its own limit of memory is ${memory ?? "none"}`, async (t) => {
        const attacked = await startTestSupervisor(t, isolation, {
          cgroups: openServiceCgroups(t, 96 * MIB),
          surroundings: { resources: { cpu: null, memory } },
        });
        if (!(await hasPerl(attacked))) return t.skip("no perl for the attacker");
        const { ended } = await fill(attacked, FILL_OWN, 200);
        assert.ok(ended !== null, "200 MiB were filled");
        assertEnded(ended, /or the service that its agent is in, ran out of memory/);
        assert.equal((await attacked.run(["true"])).exitCode, 0);
      });
  });
}
