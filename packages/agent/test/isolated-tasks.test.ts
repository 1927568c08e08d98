// Code of a task in the namespace tier attacks the machine, the agent and other tasks.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isAlive } from "./support/alive.ts";
import { OTHER, outputOf, skip, SOURCE, startIsolatedScene } from "./support/isolated-scene.ts";

const isRoot = process.getuid?.() === 0;

const listFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

for (const isOpen of [true, false]) {
  const where = isOpen ? "an open data folder" : "a data folder of the agent alone";
  describe(`a task in the namespace tier, with ${where}`, { skip }, () => {
    test("reaches nothing of the machine, of the agent and of another environment", async (t) => {
      const scene = await startIsolatedScene(t, isOpen);
      const secret = join(scene.dataDir, "credentials.json");
      await writeFile(secret, "secret", { mode: 0o600 });
      const open = join(scene.dataDir, "for-all.txt");
      await writeFile(open, "for all", { mode: 0o644 });
      const foreign = scene.server.putBundle(`${SOURCE}\n// of the other environment`);
      const inProcess = { digest: foreign, isolation: "process", environment: OTHER } as const;
      const [victim, isolatedVictim, own] = [
        await outputOf(scene.run("who", null, inProcess)),
        await outputOf(scene.run("who", null, { digest: foreign, environment: OTHER })),
        await outputOf(scene.run("who")),
      ];
      const isOwn = (path: string): boolean =>
        path === own.bundle || [own.cwd, own.tmp, own.home].some((folder) => path.startsWith(`${folder}/`));
      const files = (await listFiles(scene.dataDir)).filter((path) => !isOwn(path));
      for (const path of [
        secret,
        open,
        victim.bundle,
        isolatedVictim.bundle,
        join(isolatedVictim.cwd, "in-cwd"),
      ])
        assert.ok(files.includes(path), path);
      const outcomes = await outputOf(
        scene.run("attack", {
          read: [
            ...files,
            "/etc/shadow",
            "/etc/hostname",
            "/proc/kcore",
            "/proc/1/root/etc/shadow",
            join(process.cwd(), "package.json"),
          ],
          list: ["/home", "/root", "/sys", "/boot", "/opt", "/srv", "/workspace"],
          write: [
            ...files,
            "/usr/planted",
            "/etc/planted",
            "/planted",
            join(scene.dataDir, "planted"),
            own.bundle,
            process.execPath,
            "/proc/sys/kernel/core_pattern",
          ],
          pids: [process.pid, victim.pid, process.ppid].filter((pid) => pid > 20),
        }),
      );
      // Below /tmp the way to its own folders is in memory: what it writes there is nothing of the machine's.
      const reached = Object.entries(outcomes).filter(
        ([name, outcome]) =>
          !name.startsWith(`write ${scene.dataDir}/`) &&
          !/^E(NOENT|ACCES|PERM|ROFS|SRCH|NOTDIR)$/.test(String(outcome)),
      );
      assert.deepEqual(reached, []);
      assert.ok(isAlive(victim.pid));
      assert.match(outcomes[`write ${own.bundle}`], /^E/);
      for (const path of [...files, own.bundle]) assert.notEqual(await readFile(path, "utf8"), "attacked");
      assert.ok(!existsSync(join(scene.dataDir, "planted")));
    });

    test("sees its own processes alone, has no rights and no descriptor but its own", async (t) => {
      const scene = await startIsolatedScene(t, isOpen);
      const who = await outputOf(scene.run("who"));
      assert.deepEqual(who.pids, ["1", String(who.pid)]);
      for (const line of [/^CapEff:\s*0+$/m, /^CapPrm:\s*0+$/m, /^NoNewPrivs:\s*1$/m, /^Seccomp:\s*2$/m])
        assert.match(who.status, line);
      // An agent that is root gives it the environment's uid.
      assert.equal(who.uid === 0, false);
      if (isRoot) assert.ok(who.uid >= 10_000 && who.uid === who.gid, String(who.uid));
      assert.equal(who.name, "task");
      assert.ok(!who.etc.includes("shadow"));
      // What the host was started with is closed, and the rest is Node's own.
      const other = await outputOf(scene.run("who", null, { isolation: "process", environment: OTHER }));
      const openedIn = (fds: string[]): string[] =>
        fds
          .filter((fd) => !/ (anon_inode|pipe)$/.test(fd))
          .map((fd) =>
            fd
              .replace(/^5 .*\.tickets \(deleted\)$/, "5 tickets")
              .replace(/^([5-9]|\d\d+) (?!tickets$)/, "Node's own: "),
          )
          .toSorted();
      assert.deepEqual(openedIn(who.fds), openedIn(other.fds));
      const { PWD, ...environment } = who.environment;
      assert.equal(PWD, who.cwd);
      assert.deepEqual(
        Object.keys(environment).toSorted(),
        Object.keys({ ...other.environment, HOME: "" }).toSorted(),
      );
    });

    test("cannot make the system calls that the tier refuses, and starts programs", async (t) => {
      const scene = await startIsolatedScene(t, isOpen);
      const { stdout } = await outputOf(
        scene.run(
          "shell",
          "unshare --user true 2>&1; mount -t tmpfs x /tmp 2>&1; echo done; ls /proc | grep -c '^[0-9]'",
        ),
      );
      assert.match(stdout, /unshare.*(not permitted|denied)/i);
      assert.match(stdout, /mount.*(permission|permitted|denied|superuser|must be)/i);
      assert.match(stdout, /done/);
    });

    test("sees a declared folder, and writes in one that is writable alone", async (t) => {
      const scene = await startIsolatedScene(t, isOpen);
      const [readable, writable, hidden] = [
        await scene.folder("r"),
        await scene.folder("w"),
        await scene.folder("h"),
      ];
      for (const folder of [readable, writable, hidden]) await writeFile(join(folder, "in.txt"), "in");
      const folders = [{ path: readable }, { path: writable, writable: true }];
      const outcomes = await outputOf(
        scene.run(
          "attack",
          {
            read: [readable, writable, hidden].map((folder) => join(folder, "in.txt")),
            write: [readable, writable, hidden].map((folder) => join(folder, "out.txt")),
            list: [readable, writable, hidden],
            pids: [],
          },
          { folders },
        ),
      );
      assert.deepEqual(outcomes, {
        [`read ${readable}/in.txt`]: "succeeded",
        [`read ${writable}/in.txt`]: "succeeded",
        [`read ${hidden}/in.txt`]: "ENOENT",
        [`list ${readable}`]: "succeeded",
        [`list ${writable}`]: "succeeded",
        [`list ${hidden}`]: "ENOENT",
        [`write ${readable}/out.txt`]: "EROFS",
        [`write ${writable}/out.txt`]: "succeeded",
        [`write ${hidden}/out.txt`]: "ENOENT",
      });
      assert.equal(await readFile(join(writable, "out.txt"), "utf8"), "attacked");
    });

    test("has folders of its own that are removed with it, and reaches the network", async (t) => {
      const scene = await startIsolatedScene(t, isOpen);
      const who = await outputOf(scene.run("who"));
      for (const path of [who.cwd, who.tmp, who.home]) assert.ok(existsSync(path), path);
      assert.equal(who.environment.HOME, who.home);
      assert.equal(await outputOf(scene.run("reach", `${scene.server.url}/v1/runs`)), 401);
      await scene.agent.stop();
      for (const path of [who.cwd, who.tmp, who.home]) assert.ok(!existsSync(path), path);
    });
  });
}
