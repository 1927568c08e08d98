// Everything that keeps a worker from committing all files of a workspace, at a stop that somebody asked for and at one of
// idleness: what can be stored is stored, the rest stays where it is, and is recovered or discarded.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { mountSmallDisk } from "./support/full-disk.ts";
import { withoutOtherUsers } from "../../../agent/test/support/without-other-users.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

const OTHER = 65_534;
const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === "linux";
/** The least that a server takes; a stop comes some seconds after that. */
const IDLE = "10s";
const IDLE_MS = 40_000;
const SMALL_BYTES = 4 << 20;

type Cause = {
  name: string;
  /** Makes it; gives what mends it. */
  make(folder: string): () => void;
  /** What the materialization says; null where everything can be stored. */
  said: RegExp | null;
  /** What the version has besides `kept`, before it is mended and after. */
  files: string[];
  mended: string[];
  /** Why it cannot be tried here. */
  skip?: string | false;
};

const needsRoot = isRoot ? false : "only root makes files of another user";

const inOwnFolder = (folder: string, name: string, nest: (at: string) => void): void => {
  mkdirSync(`${folder}/${name}`);
  nest(`${folder}/${name}`);
};

const CAUSES: readonly Cause[] = [
  {
    name: "names that are not UTF-8",
    make: (folder) => {
      writeFileSync(Buffer.from(`${folder}/caf\xe9`, "latin1"), "x");
      return () => undefined;
    },
    said: null,
    files: ["file caf\\xe9"],
    mended: ["file caf\\xe9"],
  },
  {
    name: "a name that is too long once its bytes are escaped",
    make: (folder) => {
      const name = Buffer.from(`${folder}/${"\xff".repeat(100)}`, "latin1");
      writeFileSync(name, "x");
      return () => renameSync(name, `${folder}/mended`);
    },
    said: /too long once its bytes are escaped/,
    files: [],
    mended: ["file mended"],
  },
  {
    name: "a path of more than 4,096 bytes",
    make: (folder) => {
      const half = (top: string): string =>
        [top, ...Array.from({ length: 10 }, () => "n".repeat(250))].join("/");
      for (const top of ["long", "rest"]) mkdirSync(`${folder}/${half(top)}`, { recursive: true });
      writeFileSync(`${folder}/${half("rest")}/far`, "x");
      renameSync(`${folder}/rest`, `${folder}/${half("long")}/rest`);
      return () => renameSync(`${folder}/${half("long")}/rest`, `${folder}/rest`);
    },
    said: /more than 4,096 bytes/,
    files: ["directory long"],
    mended: ["directory long", "directory rest"],
  },
  {
    name: "folders that their owner closed to himself",
    make: (folder) => {
      inOwnFolder(folder, "shut", (shut) => {
        writeFileSync(`${shut}/f`, "x");
        chmodSync(`${shut}/f`, 0);
        chmodSync(shut, 0);
      });
      return () => undefined;
    },
    said: null,
    files: ["directory shut"],
    mended: ["directory shut"],
  },
  {
    name: "a file of somebody else",
    make: (folder) => {
      writeFileSync(`${folder}/foreign`, "x", { mode: 0o600 });
      chownSync(`${folder}/foreign`, 0, 0);
      return () => chownSync(`${folder}/foreign`, OTHER, OTHER);
    },
    said: /the agent may not read it/,
    files: [],
    mended: ["file foreign"],
    skip: needsRoot,
  },
];

const giveTo = (folder: string, uid: number): void =>
  void execFileSync("chown", ["-R", "-h", `${uid}:${uid}`, folder]);

const skip = isLinux ? isRoot && (await withoutOtherUsers()) : "only Linux has these";

describe("an agent that is an ordinary user", { skip }, () => {
  let site: WorkspaceSite;
  let agent: WorkspaceAgent;
  before(async () => {
    site = await startWorkspaceSite({ leaseDuration: "15s", serverEnv: { KEELSON_WORKSPACE_IDLE: IDLE } });
    agent = await site.startAgent(16, isRoot ? OTHER : undefined);
  });
  after(() => site?.stop());

  const folderOf = async (id: string): Promise<string> => {
    const { materialization } = await site.get(id);
    const name = (await readdir(agent.folder)).find((one) => one.startsWith(materialization.id));
    return path.join(agent.folder, name as string, "files");
  };
  const untilGone = (folder: string): Promise<void> =>
    until("the folder is gone", 30_000, async () => !existsSync(path.dirname(folder)));

  async function begin(cause: Cause): Promise<{ id: string; folder: string; mend: () => void }> {
    const { id } = await site.create();
    await site.act(id, "connect");
    const folder = await folderOf(id);
    writeFileSync(`${folder}/kept`, "kept\n");
    if (isRoot) giveTo(folder, OTHER);
    const mend = cause.make(folder);
    if (isRoot && cause.skip === undefined) giveTo(folder, OTHER);
    return { id, folder, mend };
  }

  /** The version has what can be stored, and the folder has everything. */
  async function isHeld(cause: Cause, id: string, folder: string): Promise<void> {
    const { materialization, status_reason: reason } = await site.get(id);
    assert.deepEqual([materialization.dirty, reason.kind], [true, "uncommitted"]);
    assert.match(materialization.error.message, cause.said as RegExp);
    const [version] = await site.versions(id);
    assert.equal(version.left_out_count, 1);
    assert.deepEqual(await site.files(id), [...cause.files, "file kept"].toSorted(byName));
    assert.equal(await site.read(id, "kept"), "kept\n");
    assert.ok(readdirSync(folder, { encoding: "buffer" }).length >= 2);
  }

  async function isStored(files: string[], id: string, folder: string): Promise<void> {
    const { materialization } = await site.untilStatus(id, "stopped");
    assert.deepEqual([materialization.dirty, materialization.error], [false, null]);
    assert.deepEqual(await site.files(id), [...files, "file kept"].toSorted(byName));
    await untilGone(folder);
  }

  for (const cause of CAUSES)
    test(`${cause.name}, at a stop that was asked for`, { skip: cause.skip ?? false }, async () => {
      const { id, folder, mend } = await begin(cause);
      const { body } = await site.act(id, "stop");
      if (cause.said === null) return isStored(cause.files, id, folder);
      assert.equal(body.materialization.status, "uncommitted");
      await isHeld(cause, id, folder);
      mend();
      assert.ok([200, 202].includes((await site.act(id, "recover")).status));
      await isStored(cause.mended, id, folder);
    });

  test("the same, at a stop because nothing happens", async (t) => {
    const causes = CAUSES.filter(({ skip = false }) => skip === false);
    await Promise.all(
      causes.map(async (cause) => {
        const { id, folder } = await begin(cause);
        const to = cause.said === null ? "stopped" : "uncommitted";
        const seen = await site.untilStatus(id, to, IDLE_MS);
        assert.equal(seen.materialization.dirty, cause.said !== null, cause.name);
        if (cause.said === null) return isStored(cause.files, id, folder);
        await isHeld(cause, id, folder);
        assert.equal((await site.act(id, "discard", { confirm: true })).status, 200);
        await isStored(cause.files, id, folder);
      }),
    );
    t.diagnostic(`${causes.length} causes`);
  });
});

const byName = (a: string, b: string): number => {
  const [left, right] = [a, b].map((line) => Buffer.from(line.slice(line.indexOf(" ") + 1)));
  return Buffer.compare(left as Buffer, right as Buffer);
};

test("a full disk of the server's blobs, at both kinds of stop", async (t) => {
  const site = await startWorkspaceSite({
    leaseDuration: "15s",
    serverEnv: { KEELSON_WORKSPACE_IDLE: IDLE },
  });
  t.after(() => site.stop());
  const environment = decodeId("env", site.credentials.environment_id)!;
  const disk = await mountSmallDisk(path.join(site.dir, "data", "workspaces", environment), SMALL_BYTES);
  if (disk === null) return t.skip("needs the right to mount a small disk");
  const agent = await site.startAgent(4);
  try {
    const hold = async (ask: boolean): Promise<{ id: string; folder: string }> => {
      const { id } = await site.create();
      await site.act(id, "connect");
      const { materialization } = await site.get(id);
      const names = await readdir(agent.folder);
      const name = names.find((one) => one.startsWith(materialization.id)) as string;
      const folder = path.join(agent.folder, name, "files");
      writeFileSync(`${folder}/large`, randomBytes(2 * SMALL_BYTES));
      if (ask) void site.act(id, "stop").catch(() => undefined);
      const held = await site.untilStatus(id, "uncommitted", 90_000);
      assert.equal(held.materialization.dirty, true);
      assert.match(held.materialization.error.message, /full|room|space/i);
      assert.equal(statSync(`${folder}/large`).size, 2 * SMALL_BYTES);
      return { id, folder };
    };
    const [asked, idle] = await Promise.all([hold(true), hold(false)]);
    assert.equal((await site.act(idle.id, "discard", { confirm: true })).status, 200);
    assert.deepEqual(await site.files(idle.id), []);
    execFileSync("mount", ["-o", `remount,size=${64 << 20}`, disk.folder]);
    await site.act(asked.id, "recover");
    const { materialization } = await site.untilStatus(asked.id, "stopped", 60_000);
    assert.equal(materialization.dirty, false);
    assert.deepEqual(await site.files(asked.id), ["file large"]);
    await until("the folders are gone", 30_000, async () => (await readdir(agent.folder)).length === 0);
  } finally {
    await agent.kill();
    disk.unmount();
  }
});
