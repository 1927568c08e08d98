// Folders that are hard to keep, through server, PostgreSQL and agents: what a version has comes back byte for byte, what it
// cannot have is named and stays where it is, and everything is gone in the end.

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { LIMITS } from "@keelson/contract";
import { lookAtTree, makeHardTree, makeManyFiles } from "./support/hard-tree.ts";
import { withoutOtherUsers } from "../../../agent/test/support/without-other-users.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import {
  filesOf,
  startWorkspaceSite,
  type WorkspaceAgent,
  type WorkspaceSite,
} from "./support/workspace-site.ts";

const MOST = 250_000;
/** The long form restores what is kept of them. A million takes minutes. */
const MANY = isLong() ? 1_000_000 : MOST + 1;
const WAIT_MS = isLong() ? 1_200_000 : 120_000;
const OTHER = 65_534;
const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === "linux";
/** A workspace of an agent that is root has a user of its own, as whom its folder is filled. */
const closed = isRoot ? await withoutOtherUsers() : false;

type LeftOut = { path: string; reason: string };

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ leaseDuration: "15s" })));
after(() => site?.stop());

/** An agent that ends with the test. */
async function startAgent(t: TestContext, uid?: number): Promise<WorkspaceAgent> {
  const agent = await site.startAgent(2, uid);
  t.after(() => agent.kill());
  return agent;
}

const untilEmpty = (agent: WorkspaceAgent): Promise<void> =>
  until("the folder is gone", WAIT_MS, async () => (await readdir(agent.folder)).length === 0).catch(
    async (cause: unknown) => {
      const left = (await readdir(agent.folder)).join(", ");
      throw new Error(`${left} is left. The agent said:\n${agent.output().slice(-4_000)}`, { cause });
    },
  );

/** What comes of it is seen by its status; the answer may take longer than a call may. */
const begin = (id: string, verb: "stop" | "materialize"): void =>
  void site.act(id, verb).catch(() => undefined);

/** Removes a workspace; its agent has nothing of it afterwards. */
async function remove(id: string): Promise<void> {
  const { status } = await site.call(site.url, "DELETE", `/api/workspaces/${id}`, { timeoutMs: 40_000 });
  assert.ok(status === 200 || status === 202 || status === 204, String(status));
}

/** Paths that a version added, of all pages. */
async function listAdded(workspace: string, version: string, base: string): Promise<string[]> {
  const added: string[] = [];
  for (let cursor = ""; ;) {
    const at = `/api/workspaces/${workspace}/versions/${version}/diff?base=${base}&limit=100${cursor}`;
    const { status, body } = await site.call(site.url, "GET", at, { timeoutMs: 40_000 });
    assert.equal(status, 200, JSON.stringify(body));
    for (const { path: changed, change } of body.changes) {
      assert.equal(change, "added");
      added.push(changed);
    }
    if (body.next_cursor === null) return added;
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
}

/** The most memory that a process had at a time, in MiB. */
const peakMib = (pid: number): number =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);

async function timed(what: string, of: WorkspaceAgent, work: () => Promise<unknown>): Promise<string> {
  const begun = performance.now();
  await work();
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const server = site.servers[0]!;
  return `${what} ${seconds} s, agent ${peakMib(of.pid)} MiB, server ${peakMib(server.pid)} MiB`;
}

describe("a hard tree", { skip: isLinux ? closed : "only Linux keeps names of any bytes" }, () => {
  for (const uid of isRoot ? [undefined, OTHER] : [undefined])
    test(`comes back whole from an agent that is ${uid === undefined && isRoot ? "root" : "an ordinary user"}`, async (t) => {
      const agent = await startAgent(t, uid);
      const { id, current_version_id: empty } = await site.create();
      await site.act(id, "connect");
      const folder = await filesOf(agent);
      const tree = makeHardTree(folder);

      const { version_id: version, error } = await site.exec(id, "true");
      assert.deepEqual([error, version === null], [null, false]);
      const [made] = await site.versions(id);
      assert.equal(made.id, version);
      // Of a path that is longer than a path may be the version names the beginning.
      assert.deepEqual(
        made.left_out.map((left: LeftOut) => `${left.reason} ${left.path}`).toSorted(),
        Object.entries(tree.leftOut)
          .map(([at, reason]) => `${reason} ${at.slice(0, LIMITS.namedPathCharacters)}`)
          .toSorted(),
      );
      assert.equal(made.left_out_count, Object.keys(tree.leftOut).length);
      assert.equal(made.renamed_count, tree.renamed.length);
      assert.equal(made.renamed.length, 100);
      for (const renamed of made.renamed) assert.ok(tree.renamed.includes(renamed), renamed);
      const paths = Object.keys(tree.kept).toSorted();
      assert.deepEqual((await listAdded(id, version, empty)).toSorted(), paths);
      assert.equal(await site.read(id, "bytes/a\x01", `&source=version&version_id=${version}`), "\x01");

      // What is in no version keeps the folder, and what is in one may be forked meanwhile.
      await site.act(id, "stop");
      const kept = await site.untilStatus(id, "uncommitted");
      assert.equal(kept.materialization.dirty, true);
      await agent.kill();
      const fork = await site.create({ from_version_id: version });
      const other = await startAgent(t, uid);
      await site.act(fork.id, "connect");
      const restored = await filesOf(other);
      assert.deepEqual(lookAtTree(restored), tree.kept);
      const { size, blocks } = statSync(path.join(restored, "image"));
      assert.ok(blocks * 512 < size / 50, `${blocks * 512} bytes of ${size} are on the disk`);
      const stopped = await site.act(fork.id, "stop");
      assert.deepEqual(
        [stopped.body.materialization.status, stopped.body.materialization.dirty],
        ["stopped", false],
      );
      assert.equal((await site.versions(fork.id)).length, 1, "what was restored is what was committed");
      await untilEmpty(other);

      assert.ok(existsSync(folder));
      await agent.start();
      assert.equal((await site.act(id, "discard", { confirm: true })).status, 200);
      await untilEmpty(agent);
      // The version is what is left, and it is whole.
      await site.act(id, "connect");
      const holder = (await readdir(agent.folder)).length > 0 ? agent : other;
      assert.deepEqual(lookAtTree(await filesOf(holder)), tree.kept);
      await remove(id);
      await remove(fork.id);
      await Promise.all([untilEmpty(agent), untilEmpty(other)]);
    });
});

test(
  `a version has ${MOST} entries; of ${MANY} the rest is named, stays on the disk, and is removed with the folder`,
  { skip: closed },
  async (t) => {
    const agent = await startAgent(t);
    const { id } = await site.create();
    await site.act(id, "connect");
    const folder = await filesOf(agent);
    makeManyFiles(folder, MANY);
    const committing = await timed("commit", agent, async () => {
      begin(id, "stop");
      await site.untilStatus(id, "uncommitted", WAIT_MS);
    });
    const { materialization } = await site.get(id);
    assert.equal(materialization.dirty, true);
    assert.match(materialization.error.message, /a version has 250,000 entries at most/);
    const [version] = await site.versions(id);
    assert.ok(version.left_out.every(({ reason }: LeftOut) => reason === "too_many_entries"));
    assert.equal(version.file_count + Math.ceil(MOST / 1_001), MOST);
    assert.ok(version.left_out_count > 0);
    assert.equal((await readdir(folder)).length, Math.ceil(MANY / 1_001), "nothing of the rest is lost");

    const restoring = isLong() ? await forkAndRestore(t, agent, version.id) : [];
    const removing = await timed("discard and remove", agent, async () => {
      assert.equal((await site.act(id, "discard", { confirm: true })).status, 200);
      await untilEmpty(agent);
    });
    t.diagnostic(`${MANY} entries: ${[committing, ...restoring, removing].join("; ")}`);
    await remove(id);
  },
);

/** What is kept is written out by an agent that never saw it. */
async function forkAndRestore(t: TestContext, agent: WorkspaceAgent, version: string): Promise<string[]> {
  let fork = "";
  const forking = await timed("fork", agent, async () => {
    fork = (await site.create({ from_version_id: version })).id;
  });
  await agent.kill();
  const other = await startAgent(t);
  const restoring = await timed("restore", other, async () => {
    begin(fork, "materialize");
    await site.untilStatus(fork, "live", WAIT_MS);
  });
  assert.equal((await readdir(await filesOf(other))).length, Math.ceil(MOST / 1_001));
  const removing = await timed("stop and remove", other, async () => {
    begin(fork, "stop");
    await site.untilStatus(fork, "stopped", WAIT_MS);
    await untilEmpty(other);
  });
  assert.equal((await site.versions(fork)).length, 1, "what was restored is what was committed");
  await remove(fork);
  await agent.start();
  return [forking, restoring, removing];
}
