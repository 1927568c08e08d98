import assert from "node:assert/strict";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { buildCommand } from "../src/sandboxes/sandbox-command.ts";
import { DEFAULT_LIMITS, type Sandbox } from "../src/sandboxes/sandbox.ts";
import type { ProcessSpec } from "../src/supervisor/supervisor.ts";
import { probeHere, startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";

const { means } = await probeHere();
const MEMORY_MIB = 512;

const limit = (text: string, name: string): string[] =>
  (new RegExp(`^${name} {2,}(\\S+) +(\\S+)`, "m").exec(text) ?? []).slice(1);

for (const { isolation, skip } of await tiersHere()) {
  describe(`what a program finds set for it in the ${isolation} tier`, { skip }, () => {
    for (const kind of ["exec", "pty"] as const)
      test(`${kind}: limits, and no way to gain rights`, async (t) => {
        const scene = await startTestSupervisor(t, isolation, {
          surroundings: { resources: { cpu: null, memory: MEMORY_MIB } },
        });
        const command = ["cat", "/proc/self/status", "/proc/self/limits"];
        // The loader's variables come by a way of their own.
        for (const env of [{}, { LD_LIBRARY_PATH: "/nowhere" }] as Record<string, string>[]) {
          const { stdout, output } = await scene.run(command, { kind, env });
          const text = Buffer.concat([stdout, output]).toString().replaceAll("\r", "");
          assert.match(text, /^NoNewPrivs:\t1$/m);
          assert.match(text, /^CapInh:\t0+\nCapPrm:\t0+\nCapEff:\t0+$/m);
          if (means.uids !== null) {
            assert.match(text, /^Uid:\t([1-9]\d+)\t\1\t\1\t\1$/m);
            assert.match(text, /^Gid:\t([1-9]\d+)\t\1\t\1\t\1$/m);
            assert.match(text, /^Groups:\t(\d+ )* ?$/m);
            assert.doesNotMatch(text, /^Groups:.*\b0\b/m);
          }
          assert.deepEqual(limit(text, "Max core file size"), ["0", "0"]);
          assert.deepEqual(limit(text, "Max file size"), Array(2).fill(String(DEFAULT_LIMITS.fileBytes)));
          assert.deepEqual(limit(text, "Max data size"), Array(2).fill(String(MEMORY_MIB * 1024 * 1024)));
          if (isolation === "namespace" || means.ownUid)
            assert.deepEqual(limit(text, "Max processes"), Array(2).fill(String(DEFAULT_LIMITS.processes)));
        }
      });

    test("variables of the loader reach the program, and names that are no identifiers do", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      const env = { LD_LIBRARY_PATH: "/nowhere", "with.dot": "1", EMPTY: "" };
      const { stdout } = await run(["env"], { env });
      for (const [name, value] of Object.entries(env))
        assert.ok(stdout.toString().split("\n").includes(`${name}=${value}`), name);
    });

    test("a program that is not there fails as itself", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      const { outcome, error } = await run(["no-such-program"]);
      assert.equal(outcome, "failed");
      assert.match(error ?? "", /^"no-such-program" could not be started: no such program$/);
    });
  });
}

test("one program alone lies between a supervisor and an exec in the process tier", () => {
  const sandbox: Sandbox = {
    ...{ materializationId: "mat_x", means, limits: DEFAULT_LIMITS, uid: 12_345, noNewPrivileges: true },
    surroundings: {
      ...{ isolation: "process", root: "/r", env: {}, network: "on" },
      resources: { cpu: null, memory: null },
    },
    ...{ folder: "/nowhere", files: [] },
  };
  const spec: ProcessSpec = {
    ...{ id: "exec_x", kind: "exec", command: ["the", "program"], cwd: "", env: {} },
    ...{ timeoutMs: null, cols: null, rows: null },
  };
  const { file, args, uid } = buildCommand(sandbox, spec, { held: "/r", absolute: "/r", inside: "" });
  assert.equal(basename(file), "prlimit");
  assert.deepEqual(args.slice(args.indexOf("--") + 1), ["the", "program"]);
  assert.equal(uid, 12_345);
  // Where rights could still be gained, what prevents that comes first.
  const careful = buildCommand({ ...sandbox, noNewPrivileges: false }, spec, {
    held: "/r",
    absolute: "/r",
    inside: "",
  });
  assert.equal(basename(careful.file), "setpriv");
  assert.ok(careful.args.includes("--no-new-privs"));
});
