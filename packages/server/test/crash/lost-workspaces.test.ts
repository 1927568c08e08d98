// What was changed live by an agent that fell silent: taken up again when it is back, never thrown away unseen.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { fewOf, newSeed } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { markedProcesses } from "./support/marked-processes.ts";
import { treeOf } from "./support/process-trees.ts";
import { supervisorsOf } from "./support/supervisors.ts";
import {
  filesOf,
  startWorkspaceSite,
  type WorkspaceAgent,
  type WorkspaceSite,
} from "./support/workspace-site.ts";

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ servers: 2, leaseDuration: "6s", hasWitness: true })));
after(() => site?.stop());

type Working = { id: string; agent: WorkspaceAgent; folder: string; exec: string };

/** A workspace in which a command has written what no version has, and goes on. */
async function startWorking(script = "echo precious > work"): Promise<Working> {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.exec(id, "echo committed > kept");
  const exec = await site.startExec(id, `${script}; echo begun; sleep 600`);
  return { id, agent, folder: await filesOf(agent), exec };
}

const untilEmpty = (agent: WorkspaceAgent): Promise<void> =>
  until("the folder is gone", 20_000, async () => (await readdir(agent.folder)).length === 0);

async function isSaved({ id, agent }: Working): Promise<void> {
  const stopped = await site.untilStatus(id, "stopped");
  assert.deepEqual([stopped.materialization.dirty, stopped.materialization.error], [false, null]);
  assert.deepEqual(await site.files(id), ["file kept", "file work"]);
  assert.equal(await site.read(id, "work"), "precious\n");
  const [version] = await site.versions(id);
  assert.equal(version.cause.kind, "stop");
  await untilEmpty(agent);
  assert.equal((await site.exec(id, "cat work")).out, "precious\n");
  await site.act(id, "stop");
}

test("an agent that is killed, and is back after its lease, commits what was changed live", async () => {
  const working = await startWorking();
  const { id, agent, exec } = working;
  await agent.kill();
  const failed = await site.untilStatus(id, "failed");
  assert.match(failed.materialization.error.message, /If its agent returns .* commits them/);
  assert.equal((await site.process(exec)).status, "lost");
  await agent.start();
  await isSaved(working);
  await agent.kill();
});

test("an agent that was stopped past its lease commits it as well, once it goes on", async () => {
  const working = await startWorking();
  working.agent.signal("SIGSTOP");
  await site.untilStatus(working.id, "failed");
  working.agent.signal("SIGCONT");
  await isSaved(working);
  await working.agent.kill();
});

test("what cannot be committed then is uncommitted, and nothing begins without it", async () => {
  const unfit = String.raw`echo precious > work; echo lost > "$(printf '\377%.0s' $(seq 100))"`;
  const { id, agent, folder } = await startWorking(unfit);
  await agent.kill();
  await site.untilStatus(id, "failed");
  await agent.start();
  const kept = await site.untilStatus(id, "uncommitted");
  assert.equal(kept.materialization.dirty, true);
  assert.equal(kept.status_reason.kind, "uncommitted");
  await until("the cause is said", 20_000, async () =>
    /too long once its bytes are escaped/.test((await site.get(id)).materialization.error.message),
  );
  for (const { url } of site.servers) {
    const refused = await site.call(url, "POST", `/api/workspaces/${id}/materialize`, { body: {} });
    assert.deepEqual([refused.status, refused.body.error?.code], [409, "workspace_busy"]);
  }
  assert.equal(readdirSync(folder, { encoding: "buffer" }).length, 3);
  assert.equal((await site.act(id, "discard", { confirm: true })).status, 200);
  await untilEmpty(agent);
  await agent.kill();
});

test("what something has gone on without stays on the disk, and is not mixed with the rest", async () => {
  const goOn: Record<string, (id: string) => Promise<unknown>> = {
    "a command": async (id) => {
      const other = await site.startAgent();
      assert.equal((await site.exec(id, "cat kept; echo two > kept")).out, "committed\n");
      await other.kill();
    },
    "a caller": (id) => site.write(id, "kept", "two\n"),
  };
  for (const [who, act] of fewOf(Object.entries(goOn), 2, newSeed())) {
    const { id, agent, folder } = await startWorking();
    await agent.kill();
    await site.untilStatus(id, "failed");
    await act(id);
    const { current_version_id: version } = await site.get(id);
    await agent.start();
    await until("its log names the folder", 20_000, async () =>
      agent.output().includes("its workspace went on without them"),
    );
    assert.equal(readFileSync(path.join(folder, "work"), "utf8"), "precious\n", who);
    assert.equal((await site.get(id)).current_version_id, version);
    assert.equal(await site.read(id, "kept", `&source=version&version_id=${version}`), "two\n");
    await agent.kill();
    assert.equal((await site.call(site.url, "DELETE", `/api/workspaces/${id}`)).status < 300, true);
    await agent.start();
    await until("it is removed with its workspace", 40_000, async () => !existsSync(folder));
    await agent.kill();
  }
});

test("what a killed supervisor's commands have changed is committed before the workspace fails", async () => {
  const { id, agent, exec } = await startWorking();
  const { materialization } = await site.get(id);
  const commands = markedProcesses(materialization.id);
  // Beside it are the one that waits for the next workspace, and a probe of the sandbox that may be ending.
  const holds = (supervisor: number): boolean => treeOf(supervisor).some((pid) => commands.includes(pid));
  const [supervisor, ...others] = supervisorsOf(agent).filter(holds);
  assert.ok(supervisor !== undefined && others.length === 0);
  process.kill(supervisor, "SIGKILL");
  assert.equal((await site.untilOver(exec)).status, "lost");
  const failed = await site.untilStatus(id, "failed");
  assert.match(failed.materialization.error.message, /is in the last version/);
  assert.equal(await site.read(id, "work"), "precious\n");
  await untilEmpty(agent);
  await agent.kill();
});
