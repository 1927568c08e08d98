// Hosts of tasks in the namespace tier: which runs share one, how they end, and what a worker does that cannot start one.

import assert from "node:assert/strict";
import { chmod, mkdir, readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { InfrastructureError } from "../src/deaths/death.ts";
import { completeHostSpec } from "../src/executions/complete-host-spec.ts";
import { decidePreparation } from "../src/executions/decide-release.ts";
import { findMarked } from "../src/sandboxes/find-processes.ts";
import { startGroupReaper } from "../src/task-hosts/group-reaper.ts";
import { openHostHomes } from "../src/task-hosts/host-homes.ts";
import { TaskHost } from "../src/task-hosts/task-host.ts";
import { openTaskTier } from "../src/task-hosts/task-tier.ts";
import type { RunRecord } from "./support/run-record.ts";
import type { RunOptions } from "./support/start-agent-server.ts";
import { ONE, outputOf, skip, SOURCE, startIsolatedScene, type Output } from "./support/isolated-scene.ts";
import { ALONE, QUIET } from "./support/start-task-host.ts";
import { probeHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const isRoot = process.getuid?.() === 0;

describe("a run in the namespace tier", { skip }, () => {
  test("finds a warm process of its own isolation and folders, and no other", async (t) => {
    const scene = await startIsolatedScene(t);
    const [one, two] = [await scene.folder("one"), await scene.folder("two")];
    const runsOf = async (options: Partial<RunOptions>): Promise<number> =>
      (await outputOf(scene.run("who", null, options))).runs;
    assert.equal(await runsOf({}), 1);
    assert.equal(await runsOf({}), 2);
    assert.equal(await runsOf({ isolation: "process" }), 1);
    assert.equal(await runsOf({ folders: [{ path: one }] }), 1);
    assert.equal(await runsOf({ folders: [{ path: one, writable: true }] }), 1);
    assert.equal(await runsOf({ folders: [{ path: two }] }), 1);
    assert.equal(await runsOf({ folders: [{ path: one }] }), 2);
    // Another folder at the same path.
    await rename(one, `${one}-before`);
    await rename(two, one);
    assert.equal(await runsOf({ folders: [{ path: one }] }), 1);
  });

  test("fails, crashes and writes as in the process tier", async (t) => {
    const scene = await startIsolatedScene(t);
    for (const execution of ["exclusive", "shared"] as const) {
      for (const [task, payload] of [
        ["fail", null],
        ["exit", 3],
        ["exit", 137],
        ["abort", "SIGABRT"],
        ["abort", "SIGKILL"],
        ["uncaught", null],
      ] as const) {
        const [isolated, plain] = (["namespace", "process"] as const).map((tier) =>
          scene.run(task, payload, { isolation: tier, execution }),
        ) as [RunRecord, RunRecord];
        const strip = ({
          at: _at,
          sequence: _sequence,
          run_id: _run,
          lease_id: _lease,
          ...release
        }: Output): Output => ({
          ...release,
          failure: { ...release.failure, stack: null },
        });
        assert.deepEqual(
          strip(await isolated.released),
          strip(await plain.released),
          `${execution} ${task} ${payload}`,
        );
        if (task !== "fail") continue;
        assert.equal(isolated.output("stdout").toString(), "before\n");
        assert.equal(isolated.output("stderr").toString(), "the failure\n");
      }
    }
  });

  test("is ended past its memory, by a cancellation and with its agent, with all that it started", async (t) => {
    const scene = await startIsolatedScene(t);
    const grown = await scene.run("grow", null, { memory_mb: 64 }).released;
    assert.equal(grown.failure?.kind, "out_of_memory");
    const hung = scene.run("hang", null, { max_duration: "1s" });
    assert.equal((await hung.released).failure?.kind, "timed_out");
    const left = scene.run("hang");
    await left.outputHas("stdout", "hanging");
    await scene.agent.stop();
    const [owner] = await readdir(join(scene.dataDir, "agents")).then(async ([agent]) =>
      readdir(join(scene.dataDir, "agents", agent as string, "hosts")),
    );
    assert.deepEqual(findMarked({ owner: owner as string, uid: null }), []);
  });

  test("fails with the reason on a worker that cannot give a declared folder", async (t) => {
    const scene = await startIsolatedScene(t);
    const [there, file, link] = [
      await scene.folder("there"),
      await scene.folder("f"),
      await scene.folder("l"),
    ];
    await writeFile(join(file, "file"), "");
    await symlink("/", join(link, "root"));
    const closed = await scene.folder("closed");
    await mkdir(join(closed, "in"));
    await chmod(closed, 0o700);
    for (const [path, reason, writable] of [
      [join(there, "absent"), /does not have\. Create it/],
      [join(file, "file"), /is not a folder/],
      [join(link, "root"), /is a link on this worker/],
      [join(link, "root", "etc"), /is a link on this worker/],
      [scene.dataDir, /holds files of the agent/],
      [join(scene.dataDir, "agents"), /holds files of the agent/],
      [join(scene.dataDir, ".."), /holds files of the agent/],
      [process.cwd(), /holds the agent's program/, true],
      ...(isRoot ? [[join(closed, "in"), /cannot reach.*chmod o\+x/] as const] : []),
    ] as [string, RegExp, boolean?][]) {
      const folders = [{ path, ...(writable && { writable }) }];
      const { outcome, failure } = await scene.run("who", null, { folders }).released;
      assert.deepEqual([outcome, failure?.kind], ["failed", "application_error"], path);
      assert.match(failure?.message ?? "", reason);
      assert.ok(failure?.message.includes(path));
    }
  });
});

test(
  "a host whose sandbox is not as it should be loads nothing, and is no fault of the code",
  { skip },
  async (t) => {
    const scene = await startIsolatedScene(t);
    const [mine, theirs] = [await scene.folder("mine"), await scene.folder("theirs")];
    const bundlePath = join(mine, "bundle.mjs");
    await writeFile(bundlePath, SOURCE, { mode: 0o644 });
    const tier = await openTaskTier(await probeHere(), {
      dataDir: scene.dataDir,
      agentFolder: scene.dataDir,
    });
    const user = (await tier.namespace?.userOf(ONE)) ?? null;
    const homes = await openHostHomes(join(scene.dataDir, "homes-of-the-test"), QUIET);
    const reaper = startGroupReaper(homes.mark, () => undefined);
    cleanUp(t, () => reaper.close());
    const bootWith = async (path: string, identity: string): Promise<unknown> => {
      const home = homes.create(user, true);
      const host = new TaskHost({
        spec: {
          ...{
            environmentId: ONE,
            user,
            secrets: {},
            digest: "0",
            format: 1,
            bundleRoot: bundlePath,
            bundlePath,
            mode: "exclusive",
          },
          ...{ memoryMb: null, isolation: "namespace", folders: [{ path, writable: false, identity }] },
        },
        ...{
          home,
          environment: {},
          namespace: tier.namespace,
          reaper,
          logger: QUIET,
          ...ALONE,
        },
      });
      host.borrow();
      const error = await host.booted.then(
        () => "booted",
        (reason: unknown) => reason,
      );
      host.kill("stopped");
      await host.exited;
      await homes.clear(home);
      return error;
    };
    const { dev, ino } = await stat(theirs, { bigint: true });
    // As if somebody had put another folder there meanwhile, or taken it away.
    const replaced = await bootWith(mine, `${dev}:${ino}`);
    assert.ok(replaced instanceof InfrastructureError, String(replaced));
    assert.match(replaced.message, /mine was replaced while the task's sandbox was set up/);
    const absent = await bootWith(join(mine, "absent"), `${dev}:${ino}`);
    assert.ok(absent instanceof InfrastructureError, String(absent));
    assert.match(absent.message, /^The worker could not set up the task's sandbox: bwrap: .*absent/);
    assert.equal(await bootWith(theirs, `${dev}:${ino}`), "booted");
  },
);

test("a worker without the tier hands the run back, and never runs it in less", async () => {
  const { means } = await probeHere();
  const probe = { isolation: "process" as const, means, problems: ["bubblewrap is not installed."] };
  const tier = await openTaskTier(probe, { dataDir: tmpdir(), agentFolder: tmpdir() });
  const asked = {
    ...{
      environmentId: ONE,
      secrets: {},
      digest: "0",
      format: 1 as const,
      mode: "exclusive" as const,
      memoryMb: null,
    },
    ...{ isolation: "namespace" as const, folders: [] },
  };
  const users = { of: () => Promise.reject(new Error("The process tier was asked.")) };
  const bundles = {
    fetch: () => Promise.resolve(),
    place: () => Promise.resolve({ root: "/bundle", path: "/bundle/bundle.mjs" }),
    repair: () => Promise.resolve(false),
    hold: () => () => undefined,
    close: () => Promise.resolve(),
  };
  const error = await completeHostSpec(asked, null, { users, bundles, tier, dataDir: tmpdir() }).catch(
    (thrown: unknown) => thrown,
  );
  const { outcome, failure } = decidePreparation(error);
  assert.deepEqual([outcome, failure?.kind], ["rejected", "lease_lost"]);
  assert.match(
    failure?.message ?? "",
    /runs no tasks with the isolation namespace\. bubblewrap is not installed\./,
  );
});
