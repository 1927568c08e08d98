// Agents that are killed and come back while their lease lasts.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { supervisorsOf } from "./support/supervisors.ts";
import { markedProcesses } from "./support/marked-processes.ts";
import { until } from "../support/until.ts";
import { filesOf, startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
// Long enough for an agent to come back on any machine.
before(async () => (site = await startWorkspaceSite({ leaseDuration: "120s" })));
after(() => site?.stop());

const gone = (materializationId: string): Promise<void> =>
  until("its processes have ended", 40_000, async () => markedProcesses(materializationId).length === 0);

test("a command and a terminal live through a killed agent that comes back", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  const exec = await site.startExec(
    id,
    'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo made > by-exec; echo "went on"',
  );
  const { body: pty } = await site.call(site.url, "POST", `/api/workspaces/${id}/pty`, { body: {} });
  const terminal = `/api/workspaces/${id}/pty/${pty.id}`;
  await until("the terminal runs", 20_000, async () => (await site.process(terminal)).status === "running");
  const mat = (await site.get(id)).materialization.id;
  await agent.kill();
  assert.ok(markedProcesses(mat).length > 0);
  await agent.start();
  const typed = await site.call(site.url, "POST", `${terminal}/input`, {
    body: { data: Buffer.from("touch go; exit\n").toString("base64") },
  });
  assert.equal(typed.status, 200);
  const ended = await site.untilOver(exec);
  assert.deepEqual([ended.status, ended.exit_code], ["exited", 0]);
  const { body } = await site.call(site.url, "GET", `${exec}/stdout`);
  const out = body.chunks
    .map(({ data }: { data: string }) => Buffer.from(data, "base64").toString())
    .join("");
  assert.equal(out, "begun\nwent on\n");
  assert.equal((await site.untilOver(terminal)).status, "exited");
  assert.equal(await site.read(id, "by-exec"), "made\n");
  assert.equal((await site.get(id)).materialization.id, mat);
  await site.act(id, "stop");
  await gone(mat);
  await agent.kill();
});

test("an agent that is killed and started again goes on with the files it had", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.write(id, "kept.txt", "before");
  const { body } = await site.act(id, "connect");
  await writeFile(path.join(await filesOf(agent), "changed.txt"), "not committed yet");
  await agent.kill();
  await agent.start();
  const stopped = await site.act(id, "stop");
  assert.deepEqual(
    [stopped.body.materialization.id, stopped.body.materialization.status],
    [body.materialization.id, "stopped"],
  );
  assert.equal(await site.read(id, "changed.txt"), "not committed yet");
  assert.equal(await site.read(id, "kept.txt"), "before");
  await agent.kill();
});

test("an agent that comes back without its supervisors begins what it is given from then on", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  const running = await site.startExec(id, "echo work > changed; echo begun; sleep 600");
  const mat = (await site.get(id)).materialization.id;
  const supervisors = supervisorsOf(agent);
  await agent.kill();
  for (const pid of supervisors) process.kill(pid, "SIGKILL");
  await agent.start();
  const lost = await site.untilOver(running);
  assert.deepEqual([lost.status, lost.error.message], ["lost", "The process that ran it is gone."]);
  // What it had changed is not left to the end of the workspace.
  assert.notEqual(lost.version_id, null);
  assert.equal(await site.read(id, "changed", `&source=version&version_id=${lost.version_id}`), "work\n");
  for (const turn of [1, 2]) {
    const { status, exit_code: code, out } = await site.exec(id, `cat changed; echo ${turn}`);
    assert.deepEqual([status, code, out], ["exited", 0, `work\n${turn}\n`]);
  }
  assert.equal((await site.get(id)).materialization.id, mat);
  await site.act(id, "stop");
  assert.equal(await site.read(id, "changed"), "work\n");
  await agent.kill();
});
