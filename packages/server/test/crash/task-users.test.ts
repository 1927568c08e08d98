// Code of tasks on an agent that is root: it attacks the files of server and agent, and works in its workspace by path.

import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { withoutOtherUsers } from "../../../agent/test/support/without-other-users.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

const skip = await withoutOtherUsers();

const CODE = `
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { task } from "@keelson/sdk";

const outcomeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(() => "succeeded", (error) => error.code ?? error.message);

export const look = task({
  id: "look",
  run: () => ({ uid: process.getuid!(), pid: process.pid, home: homedir() }),
});

export const attack = task({
  id: "attack",
  async run({ files, folders, pid }: { files: string[]; folders: string[]; pid: number }) {
    const outcomes: Record<string, string> = {};
    for (const file of files) {
      outcomes["read " + file] = await outcomeOf(readFile(file));
      outcomes["write " + file] = await outcomeOf(writeFile(file, "attacked", { flag: "r+" }));
    }
    for (const folder of folders) {
      outcomes["list " + folder] = await outcomeOf(readdir(folder));
      outcomes["make in " + folder] = await outcomeOf(writeFile(join(folder, "planted"), ""));
    }
    outcomes["environment"] = await outcomeOf(readFile("/proc/" + pid + "/environ"));
    outcomes["signal"] = await outcomeOf((async () => process.kill(pid, 0))());
    return { uid: process.getuid!(), outcomes };
  },
});

export const byPath = task({
  id: "by-path",
  async run({ others }: { others: string[] }, ctx) {
    const at = (name: string) => join(ctx.workspace.path, name);
    await mkdir(at("src"));
    await writeFile(at("src/a.txt"), "by path");
    const script = "umask 077; echo by command > src/b.txt; echo more >> src/a.txt; mkdir made; echo x > made/c.txt; " +
      "cat /proc/" + process.pid + "/environ > /dev/null 2>&1 && echo read-environment; " +
      "kill -0 " + process.pid + " 2>/dev/null && echo may-signal; true";
    const { stdout } = await ctx.workspace.exec(["sh", "-c", script]);
    const texts = [await readFile(at("src/a.txt"), "utf8"), await readFile(at("src/b.txt"), "utf8")];
    await writeFile(at("src/b.txt"), "changed by path");
    await writeFile(at("made/d.txt"), "by path");
    await rm(at("made/c.txt"));
    await chmod(at("src/a.txt"), 0o600);
    const again = await ctx.workspace.exec(["sh", "-c", "cat src/b.txt made/d.txt; ls made; rm made/d.txt"]);
    const seen: Record<string, string> = {};
    for (const other of others) seen[other] = await outcomeOf(readdir(other));
    return { uid: process.getuid!(), stdout, texts, again: again.stdout, owner: (await stat(ctx.workspace.path)).uid, seen,
      path: ctx.workspace.path };
  },
});
`;

let site: WorkspaceSite;
before(async () => {
  if (skip !== false) return;
  site = await startWorkspaceSite();
  await site.startAgent();
  await deployCode(site, site.servers[0]!, CODE);
});
after(() => site?.stop());

async function outputOf(task: string, payload: object = {}, extra: object = {}): Promise<Body> {
  const answer = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, {
    body: { payload, ...extra },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  let run: Body = null;
  await until(`run of ${task} succeeds`, 60_000, async () => {
    run = (await site.call(site.url, "GET", `/v1/runs/${answer.body.id}`)).body;
    assert.ok(!["failed", "system_failed"].includes(run.status), JSON.stringify(run.failure));
    return run.status === "succeeded";
  });
  return run.output;
}

test(
  "a task reads and changes no file of the server and the agent, database and keys included",
  { skip },
  async () => {
    const entries = await readdir(site.dir, { recursive: true, withFileTypes: true });
    const files: string[] = [];
    const folders: string[] = [site.dir];
    for (const entry of entries) {
      const place = path.join(entry.parentPath, entry.name);
      // What is lent to this task, and what the test itself deploys.
      if (/\/(task-bundles|hosts|open|code-\d+)(\/|$)/.test(place)) continue;
      if (entry.isDirectory()) folders.push(place);
      else if (
        entry.isFile() &&
        /credentials|master|identity|PG_VERSION|pgpass|bundles|blobs|task-users|record/.test(place)
      )
        files.push(place);
    }
    for (const name of ["credentials.json", "master.key", "identity.json", "PG_VERSION"])
      assert.ok(
        files.some((file) => file.endsWith(name)),
        `${name} is not attacked`,
      );
    const { uid, outcomes } = await outputOf("attack", {
      files,
      folders: folders.slice(0, 2_000),
      pid: process.pid,
    });
    assert.ok(uid >= 0x71000000, String(uid));
    const reached = Object.entries(outcomes).filter(
      ([, outcome]) => !/^E(ACCES|PERM)$/.test(String(outcome)),
    );
    assert.deepEqual(reached, []);
  },
);

test(
  "the code of a run works in its workspace by path, with its commands, and in no other workspace",
  { skip },
  async () => {
    const look = await outputOf("look");
    const workspaces = [await site.create(), await site.create()];
    const first = await outputOf("by-path", { others: [] }, { workspace_id: workspaces[0].id });
    assert.deepEqual(first.texts, ["by pathmore\n", "by command\n"]);
    assert.equal(first.again, "changed by pathby pathd.txt\n");
    assert.equal(first.uid, first.owner);
    assert.notEqual(first.uid, look.uid);
    const { materialization } = await site.get(workspaces[0].id);
    if (materialization.isolation === "namespace") assert.equal(first.stdout, "");
    const second = await outputOf("by-path", { others: [first.path] }, { workspace_id: workspaces[1].id });
    assert.notEqual(second.uid, first.uid);
    assert.deepEqual(second.seen, { [first.path]: "EACCES" });
    assert.equal(await site.read(workspaces[0].id, "src/b.txt"), "changed by path");
    assert.ok((await stat(first.path)).isDirectory());
  },
);
