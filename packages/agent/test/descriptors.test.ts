import assert from "node:assert/strict";
import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { spawnAgent } from "./support/spawn-agent.ts";
import { startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

type Seen = { descriptors: Record<string, string>; read: string[]; written: number | string };

const SOURCE = bundleOf(
  {
    main: `
      const descriptors = {};
      for (const name of readdirSync("/proc/self/fd")) try { descriptors[name] = readlinkSync("/proc/self/fd/" + name); } catch {}
      const read = [];
      for (let fd = 5; fd < 400; fd += 1) {
        // Only files are read: Node's own pipes would block.
        if (!(descriptors[fd] ?? "").startsWith("/")) continue;
        try { read.push(readFileSync("/proc/self/fd/" + fd, "utf8").slice(0, 100)); } catch {}
      }
      let written = null;
      try { written = writeSync(5, "x"); } catch (error) { written = error.code; }
      return { descriptors, read, written };`,
  },
  `import { readdirSync, readFileSync, readlinkSync, writeSync } from "node:fs";`,
);

const linksOf = (pid: number): Map<string, string> =>
  new Map(
    readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return [[name, readlinkSync(`/proc/${pid}/fd/${name}`)]];
      } catch {
        return [];
      }
    }),
  );

for (const execution of ["exclusive", "shared"] as const) {
  test(`a run in a process of its own kind (${execution}) has no descriptor of its agent, nor of who started that`, async (t) => {
    const server = await startAgentServer(t);
    const folder = await mkdtemp(join(tmpdir(), "keelson-descriptors-"));
    cleanUp(t, () => rm(folder, { recursive: true, force: true }));
    const secretPath = join(folder, "secret");
    await writeFile(secretPath, "do not tell");
    const secret = openSync(secretPath, "r");
    cleanUp(t, () => closeSync(secret));
    // Two are in a row with the standard streams; the others come after gaps that Node does not look behind.
    const inherited = [3, 9, 57, 200];
    const agent = await spawnAgent(t, server.settings, new Map(inherited.map((fd) => [fd, secret])));
    const digest = server.putBundle(SOURCE);
    const running = Array.from({ length: 4 }, () => server.enqueue({ digest, execution }));
    const seen = (await Promise.all(running.map((run) => run.released))).map(({ output }) => output as Seen);
    const ofAgent = linksOf(agent.child.pid as number);
    assert.ok(ofAgent.size > 15, `the agent has ${ofAgent.size} descriptors`);
    // Pipes, sockets and files are told apart by their links; anonymous inodes all look the same.
    const agentOwn = new Set(
      [...ofAgent.values()].filter((link) => /^(socket|pipe):|^\//.test(link) && link !== "/dev/null"),
    );
    for (const { descriptors, read, written } of seen) {
      if (execution === "exclusive") {
        // It shares its tickets with the agent, and cannot make any.
        assert.match(descriptors["5"] ?? "", /\.tickets \(deleted\)$/);
        assert.equal(written, "EBADF");
        delete descriptors["5"];
      }
      assert.deepEqual(
        Object.entries(descriptors).filter(([, link]) => link === secretPath),
        [],
      );
      assert.deepEqual(
        Object.entries(descriptors).filter(([, link]) => agentOwn.has(link)),
        [],
      );
      const sockets = Object.entries(descriptors).filter(([, link]) => link.startsWith("socket:"));
      assert.deepEqual(
        sockets.map(([fd]) => Number(fd)),
        [1, 2, 3, 4],
      );
      assert.equal(descriptors["0"], "/dev/null");
      assert.ok(!read.includes("do not tell"));
    }
    console.log(
      `${seen.length} runs · ${agentOwn.size} descriptors of the agent and ${inherited.length} of its parent looked for · ${Object.keys(seen[0]?.descriptors ?? {}).length} of a process · 0 found`,
    );
  });
}

/** Each descriptor of the shell and what it leads to. Whoever lists the folder has one more meanwhile. */
const LOOK = [
  "sh",
  "-c",
  `fd=0; while [ $fd -lt 1024 ]; do if [ -h /proc/$$/fd/$fd ]; then printf "$fd "; readlink /proc/$$/fd/$fd; fi; fd=$((fd + 1)); done`,
];
/** Without the number of a socket or a terminal. */
const kindsOf = (printed: Buffer): string[] =>
  printed
    .toString()
    .trim()
    .split(/\r?\n/)
    .map((line) => line.replace(/[:/[]*\d+\]?$/, ""));

for (const { isolation, skip } of await tiersHere()) {
  test(
    `an exec and a terminal in the ${isolation} tier have their three descriptors and no other`,
    { skip },
    async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      // The first may take the place of a shell that was set up ahead, the second does not.
      for (const cwd of ["", "."]) {
        const { stdout } = await scene.run(LOOK, { cwd });
        assert.deepEqual(kindsOf(stdout), ["0 socket", "1 socket", "2 socket"]);
      }
      const id = await scene.begin(LOOK, { kind: "pty", cols: 80, rows: 24 });
      const { output } = await scene.collect(id);
      assert.deepEqual(kindsOf(output), ["0 /dev/pts", "1 /dev/pts", "2 /dev/pts"]);
    },
  );
}
