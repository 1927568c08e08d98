// Agents that are killed, stopped and replaced while they hold workspaces.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { markedProcesses } from "./support/marked-processes.ts";
import { isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import { letPass, until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

/** How much of what does not compress makes a commit take a while. */
const SLOW_BYTES = isLong() ? 60_000_000 : 20_000_000;

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ leaseDuration: "6s", hasWitness: true })));
after(() => site?.stop());

const gone = (materializationId: string): Promise<void> =>
  until("its processes have ended", 40_000, async () => markedProcesses(materializationId).length === 0);

test("what ran on an agent that stays away is lost, ends, and the next one has the last version", async () => {
  const agent = await site.startAgent();
  const { id } = await site.create();
  await site.exec(id, "echo committed > kept");
  const exec = await site.startExec(id, "echo never > lost; echo begun; sleep 600");
  const mat = (await site.get(id)).materialization.id;
  await agent.kill();
  assert.equal((await site.untilOver(exec)).status, "lost");
  const failed = await site.get(id);
  assert.equal(failed.materialization.status, "failed");
  const other = await site.startAgent();
  assert.equal((await site.exec(id, "ls; cat kept")).out, "kept\ncommitted\n");
  await gone(mat);
  await other.kill();
});

test("an agent that was stopped past its lease ends what it ran and commits nothing", async () => {
  const stopped = await site.startAgent();
  const { id } = await site.create();
  await site.exec(id, "echo one > kept");
  const exec = await site.startExec(id, "echo stale > kept; echo begun; sleep 600");
  const { id: mat } = (await site.get(id)).materialization;
  stopped.signal("SIGSTOP");
  assert.equal((await site.untilOver(exec)).status, "lost");
  const other = await site.startAgent();
  const next = await site.exec(id, "cat kept; echo two > kept");
  assert.equal(next.out, "one\n");
  const versions = (await site.versions(id)).length;
  stopped.signal("SIGCONT");
  await gone(mat);
  assert.equal((await site.versions(id)).length, versions);
  assert.equal((await site.get(id)).current_version_id, next.version_id);
  assert.equal(await site.read(id, "kept"), "two\n");
  await Promise.all([stopped.kill(), other.kill()]);
});

test("an agent that was stopped in the middle of a commit past its lease commits nothing afterwards", async (t) => {
  const stopped = await site.startAgent();
  const { id } = await site.create();
  await site.exec(id, "echo one > kept");
  const exec = await site.startExec(
    id,
    `head -c ${SLOW_BYTES} /dev/urandom > big; echo two > kept; echo written`,
  );
  const { id: mat } = (await site.get(id)).materialization;
  stopped.signal("SIGSTOP");
  const { status } = await site.untilOver(exec);
  await site.untilStatus(id, "failed");
  const other = await site.startAgent();
  const found = await site.exec(id, "cat kept; test -e big && echo whole; echo three > kept");
  // The commit was the server's before the stop, or it never came: there is no half of it.
  assert.ok(["one\n", "two\nwhole\n"].includes(found.out), found.out);
  const versions = (await site.versions(id)).length;
  stopped.signal("SIGCONT");
  await gone(mat);
  assert.equal((await site.versions(id)).length, versions);
  assert.equal((await site.get(id)).current_version_id, found.version_id);
  assert.equal(await site.read(id, "kept"), "three\n");
  t.diagnostic(`the exec is ${status}; the next agent found ${JSON.stringify(found.out)}`);
  await Promise.all([stopped.kill(), other.kill()]);
});

/** Every file of the current version has the content that its number says. */
async function checkWhole(workspace: string): Promise<number> {
  const { current_version_id: version } = await site.get(workspace);
  const at = `&source=version&version_id=${version}`;
  const names = (await site.files(workspace, `limit=500${at}`)).map((entry) => entry.replace("file ", ""));
  for (const name of names) {
    const number = Number(name.slice(1));
    const content = await site.read(workspace, name, at);
    assert.equal(content.length, FILE_BYTES, `${name} is whole`);
    assert.ok(content.startsWith(`${number} `) && content.endsWith(` ${number}\n`), `${name} is its own`);
  }
  return names.length;
}

const FILE_BYTES = 700_000;
const FILES = isLong() ? 5 : 3;

test("an agent killed in the middle of commits leaves whole versions alone, and nothing runs on", async (t) => {
  const seed = newSeed();
  const random = seededRandom(seed);
  // Of which the last of each few is lost, after a whole lease.
  const [rounds, awayEvery] = isLong() ? [100, 5] : [3, 3];
  const agent = await site.startAgent();
  const { id } = await site.create();
  const execs: string[] = [];
  const mats = new Set<string>();
  let lost = 0;
  for (let round = 0; round < rounds; round += 1) {
    // Bytes that do not compress, so that a commit takes a while; marked so that they are told apart.
    const script = `for i in $(seq ${round * FILES} ${round * FILES + FILES - 1}); do
      m="$i "; e=" $i"; n=$((${FILE_BYTES} - \${#m} - \${#e} - 1))
      { printf '%s' "$m"; head -c 600000 /dev/urandom | base64 -w 0 | head -c $n; echo "$e"; } > f$i
    done; echo written`;
    const at = await site.startExec(id, script);
    execs.push(at.slice(at.lastIndexOf("/") + 1));
    mats.add((await site.get(id)).materialization.id);
    await letPass(random() * 80, "the agent is killed somewhere in its work");
    await agent.kill();
    // Sometimes it stays away: then the round is lost, that is said, and it commits the files once it is back.
    if (round % awayEvery === awayEvery - 1)
      await until("it is lost", 40_000, async () => (await site.process(at)).status !== "running");
    await agent.start();
    const ended = await site.untilOver(at);
    assert.ok(ended.status === "exited" || ended.status === "lost", ended.status);
    if (ended.status === "exited") assert.ok(ended.version_id !== null, "its changes are in a version");
    else {
      lost += 1;
      await site.untilStatus(id, "stopped");
    }
    if (round % 3 === 0) await checkWhole(id);
  }
  const kept = await checkWhole(id);
  assert.equal(kept, rounds * FILES, `${lost} rounds were lost`);
  const causes = (await site.versions(id)).map(({ cause }) => cause);
  const strays = causes.filter(({ kind, id: cause }) => kind === "exec" && !execs.includes(cause));
  assert.deepEqual(strays, []);
  await site.act(id, "stop");
  for (const mat of mats) await gone(mat);
  t.diagnostic(
    `${rounds} kills, ${lost} lost rounds, ${kept} files, ${causes.length} versions, seed ${seed}`,
  );
  await agent.kill();
});
