// A close that a server has taken: what is sent afterwards is refused by every server, wherever the worker is.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import type { Answer } from "./support/caller.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ servers: 2, leaseDuration: "12s", hasWitness: true })));
after(() => site?.stop());

type Send = (server: number, rest: string, body?: object) => Promise<Answer>;

const sender =
  (at: string): Send =>
  (server, rest, body = {}) =>
    site.call(site.servers[server]!.url, "POST", `${at}${rest}`, { body });

const typed = (text: string): object => ({ data: Buffer.from(text).toString("base64") });

const bytesOf = (path: string, part: "input" | "stdin"): Promise<number> =>
  site.process(path).then((process) => process[part].bytes);

/** A terminal whose program has shown something. */
async function openTerminal(): Promise<{ id: string; at: string; agent: WorkspaceAgent }> {
  const agent = await site.startAgent();
  const { id } = await site.create();
  const { status, body } = await site.call(site.url, "POST", `/api/workspaces/${id}/pty`, {
    body: { command: ["sh", "-c", "echo begun; cat > typed; cat"] },
  });
  assert.equal(status, 201, JSON.stringify(body));
  const at = `/api/workspaces/${id}/pty/${body.id}`;
  await until("the terminal shows something", 40_000, async () => (await site.process(at)).output.bytes > 0);
  return { id, at, agent };
}

/** Each server refuses what comes after the close, in words; a second close changes nothing. */
async function refusesTheRest(at: string): Promise<void> {
  const send = sender(at);
  const before = await bytesOf(at, "input");
  for (const server of [0, 1]) {
    const calls: [string, object][] = [
      ["/input", typed("late\n")],
      ["/resize", { cols: 10, rows: 10 }],
    ];
    for (const [rest, body] of calls) {
      const refused = await send(server, rest, body);
      assert.deepEqual([refused.status, refused.body.error?.code], [409, "invalid_state"], rest);
      assert.match(refused.body.error.message, /^The (terminal is closing|process is closed)\b/);
    }
    assert.equal((await send(server, "/close")).status, 200);
  }
  assert.equal(await bytesOf(at, "input"), before);
  const controls = await site.db.query(sql`
    SELECT kind FROM process_controls WHERE process_id = ${decodeId("pty", at.slice(at.lastIndexOf("/") + 1))}`);
  assert.ok(controls.length <= 1, JSON.stringify(controls));
}

test("a terminal that is closed while its agent is down takes nothing more, and is closed when that is back", async () => {
  const { id, at, agent } = await openTerminal();
  await agent.kill();
  const closed = await sender(at)(0, "/close");
  assert.deepEqual([closed.status, closed.body.status, closed.body.closing], [200, "running", true]);
  await refusesTheRest(at);
  await agent.start();
  const ended = await site.untilOver(at);
  assert.deepEqual([ended.status, ended.closing], ["closed", false]);
  await refusesTheRest(at);
  assert.equal((await site.act(id, "stop")).body.materialization.status, "stopped");
  await agent.kill();
});

test("a terminal that is closed while its agent is down for good is closed, and not lost", async () => {
  const { at, agent } = await openTerminal();
  await agent.kill();
  await sender(at)(1, "/close");
  assert.equal((await site.untilOver(at)).status, "closed");
  await refusesTheRest(at);
});

test("what two servers take of a terminal while a third caller closes it, they took before the close", async () => {
  const { at, agent } = await openTerminal();
  const send = sender(at);
  const answers = await Promise.all(
    Array.from({ length: 40 }, async (_, n) =>
      n === 20 ? send(0, "/close") : send(n % 2, "/input", typed(`${n}\n`)),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(
    statuses.filter((status) => status !== 200 && status !== 409),
    [],
  );
  const taken = statuses.flatMap((status, n) => (status === 200 && n !== 20 ? [`${n}\n`.length] : []));
  assert.equal(
    await bytesOf(at, "input"),
    taken.reduce((sum, length) => sum + length, 0),
  );
  assert.equal((await site.untilOver(at)).status, "closed");
  await refusesTheRest(at);
  await agent.kill();
});

test("standard input that is closed while the agent is down takes nothing more, and ends with what it took", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  const at = await site.startExec(id, "echo begun; cat");
  const send = sender(at);
  await agent.kill();
  assert.equal((await send(0, "/stdin", typed("taken\n"))).status, 200);
  assert.deepEqual((await send(1, "/stdin/close")).body, { offset: 6 });
  for (const server of [0, 1]) {
    const refused = await send(server, "/stdin", typed("late\n"));
    assert.deepEqual([refused.status, refused.body.error?.code], [409, "invalid_state"]);
    assert.match(refused.body.error.message, /input has been closed/);
    assert.deepEqual((await send(server, "/stdin/close")).body, { offset: 6 });
  }
  await agent.start();
  assert.equal((await site.untilOver(at)).status, "exited");
  assert.equal(await site.output(`${at}/stdout`), "begun\ntaken\n");
  await agent.kill();
});
