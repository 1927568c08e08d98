import assert from "node:assert/strict";
import { mkdir, readFile, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { startTestSupervisor, tiersHere, type Collected } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const sh = (script: string): string[] => ["sh", "-c", script];
const ends = ({ outcome, exitCode, signal, timedOut, error }: Collected): object => {
  return { outcome, exitCode, signal, timedOut, error };
};
const EXITED = { outcome: "exited", exitCode: 0, signal: null, timedOut: false, error: null };

for (const { isolation, skip } of await tiersHere()) {
  describe(`execs in the ${isolation} tier`, { skip }, () => {
    test("arguments reach the program as they are, and both outputs come back", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      const ran = await run([
        "sh",
        "-c",
        'printf "%s|" "$@"; echo problem >&2',
        "sh",
        "a b",
        "$HOME",
        "*",
        "ü",
      ]);
      assert.deepEqual(ends(ran), EXITED);
      assert.equal(ran.stdout.toString(), "a b|$HOME|*|ü|");
      assert.equal(ran.stderr.toString(), "problem\n");
    });

    test("the environment is the sandbox's and the exec's, with nothing of the agent's", async (t) => {
      process.env["KEELSON_TEST_SECRET_OF_THE_AGENT"] = "leaked";
      cleanUp(t, () => delete process.env["KEELSON_TEST_SECRET_OF_THE_AGENT"]);
      const { run } = await startTestSupervisor(t, isolation, {
        surroundings: { env: { A: "sandbox", B: "sandbox" } },
      });
      const { stdout } = await run(["env"], { env: { B: "exec", C: "with space\nand line" } });
      const lines = stdout.toString().split("\n");
      for (const line of ["A=sandbox", "B=exec", "C=with space", "and line"])
        assert.ok(lines.includes(line), line);
      const names = lines.flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []).sort();
      const expected = ["A", "B", "C", "HOME", "KEELSON_SANDBOX_PROCESS", "LANG", "PATH", "PWD"];
      assert.deepEqual(names, expected);
      const reading =
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c KEELSON_TEST_SECRET_OF_THE_AGENT";
      assert.equal((await run(sh(reading))).stdout.toString().trim(), "0");
    });

    test("what the author puts into the environment is obeyed by nothing before the program", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      const { stderr } = await run(["/usr/bin/true"], {
        env: { LD_PRELOAD: "/nowhere/evil.so", PATH: "/nowhere" },
      });
      const complaints = stderr
        .toString()
        .split("\n")
        .filter((line) => /evil/.test(line));
      // The dynamic linker complains once for each program that it starts with the variable. In the namespace tier `prlimit`
      // starts the program, inside of the sandbox.
      const most = isolation === "namespace" ? 2 : 1;
      assert.ok(complaints.length >= 1 && complaints.length <= most, stderr.toString());
    });

    test("the working folder is one of the workspace, and symlinks do not lead out of it", async (t) => {
      const { begin, collect, run, root } = await startTestSupervisor(t, isolation);
      await mkdir(join(root, "deep/er"), { recursive: true });
      await symlink("deep/er", join(root, "inside"));
      await symlink("/etc", join(root, "outside"));
      const home = isolation === "namespace" ? "/workspace" : await realpath(root);
      assert.equal((await run(["pwd"], { cwd: "deep/er" })).stdout.toString(), `${home}/deep/er\n`);
      assert.equal((await run(["pwd"], { cwd: "inside" })).stdout.toString(), `${home}/deep/er\n`);
      // The same words, whether there is such a folder outside or not.
      await symlink("/no-such-folder", join(root, "absent"));
      await symlink("../..", join(root, "above"));
      for (const cwd of ["outside", "nowhere", "absent", "above", "../..", "outside/../deep"]) {
        const { outcome, error } = await run(["pwd"], { cwd });
        assert.equal(outcome, "failed");
        const words = "does not exist, or is not a folder of the workspace.";
        assert.equal(error, `The working folder "${cwd}" ${words}`);
      }
      const absolute = isolation === "namespace" ? "/workspace/deep/er" : join(root, "deep/er");
      await symlink(absolute, join(root, "absolute"));
      assert.equal((await run(["pwd"], { cwd: "absolute" })).stdout.toString(), `${home}/deep/er\n`);
      const pty = await begin(["pwd"], { id: "pty_cwd", kind: "pty", cols: 80, rows: 24, cwd: "inside" });
      assert.equal((await collect(pty)).output.toString(), `${home}/deep/er\r\n`);
    });

    test("a working folder that is swapped for a link to the machine's meanwhile is never one of the machine", async (t) => {
      const { begin, run, readUntil } = await startTestSupervisor(t, isolation);
      if ((await run(["perl", "-e", "exit 7"])).exitCode !== 7) return t.skip("no perl for the attacker");
      const swap =
        'mkdir "d"; symlink "/etc", "l"; $| = 1; print "begun"; while (1) { rename "d", "x"; rename "l", "d"; rename "d", "l"; rename "x", "d" }';
      await readUntil(await begin(["perl", "-e", swap]), "begun");
      const seen = new Set<string>();
      for (let round = 0; round < 60; round += 1) {
        const { outcome, stdout } = await run(["/bin/pwd", "-P"], { cwd: "d" });
        seen.add(outcome === "exited" ? stdout.toString().trim() : outcome);
      }
      assert.ok(![...seen].some((place) => place === "/etc" && isolation === "process"), [...seen].join());
    });

    test("a program cannot make it seem that it was not started", async (t) => {
      const { run, root } = await startTestSupervisor(t, isolation);
      const words = [
        "prlimit: failed to execute x: No such file or directory",
        "setpriv: failed to execute x: No such file or directory",
        "bwrap: execvp x: No such file or directory",
        "env: 'x': No such file or directory",
        "env: can't execute 'x': No such file or directory",
      ];
      for (const [index, line] of words.entries()) {
        const name = `liar-${index}`;
        const script = `#!/bin/sh\nrm -f "$0"; echo "${line}" >&2; exit ${126 + (index % 2)}\n`;
        await writeFile(join(root, name), script, { mode: 0o755 });
        const { outcome, error, exitCode, stderr } = await run([`./${name}`]);
        assert.deepEqual([outcome, error, exitCode], ["exited", null, 126 + (index % 2)], line);
        assert.equal(stderr.toString(), `${line}\n`);
      }
    });

    test("files that a program writes are the workspace's", async (t) => {
      const { run, root } = await startTestSupervisor(t, isolation);
      assert.equal((await run(sh("echo hello > file"))).exitCode, 0);
      assert.equal(await readFile(join(root, "file"), "utf8"), "hello\n");
    });

    test("the end says the exit code or the signal", async (t) => {
      const { run } = await startTestSupervisor(t, isolation);
      assert.deepEqual(ends(await run(sh("exit 7"))), { ...EXITED, exitCode: 7 });
      assert.deepEqual(ends(await run(sh("kill -KILL $$"))), {
        ...EXITED,
        exitCode: null,
        signal: "SIGKILL",
      });
      assert.deepEqual(ends(await run(sh("kill -SEGV $$"))), {
        ...EXITED,
        exitCode: null,
        signal: "SIGSEGV",
      });
    });

    test("a program that is not there, or is none, has failed with a reason", async (t) => {
      const { run, root } = await startTestSupervisor(t, isolation);
      const missing = await run(["no-such-program", "x"]);
      assert.equal(missing.outcome, "failed");
      assert.match(missing.error ?? "", /^"no-such-program" could not be started: /);
      await mkdir(join(root, "folder"));
      assert.match((await run(["./folder"])).error ?? "", /^"\.\/folder" could not be started: /);
      await writeFile(join(root, "text"), "#!/bin/sh\n", { mode: 0o644 });
      assert.match(
        (await run(["./text"])).error ?? "",
        /^"\.\/text" could not be started: permission denied/,
      );
      // The system was asked to run this one.
      await writeFile(join(root, "script"), "#!/nowhere/interpreter\n", { mode: 0o755 });
      const { outcome, exitCode, stderr } = await run(["./script"]);
      assert.deepEqual([outcome, exitCode], ["exited", 127]);
      assert.match(stderr.toString(), /script.*(No such file|not found)/);
    });

    test("a start is made once for its id", async (t) => {
      const { begin, collect, root } = await startTestSupervisor(t, isolation);
      const id = "exec_once";
      const command = sh("echo x >> starts");
      await Promise.all([begin(command, { id }), begin(command, { id })]);
      await begin(command, { id });
      await collect(id);
      assert.equal(await readFile(join(root, "starts"), "utf8"), "x\n");
    });

    test("past its time a process is killed, with what it started", async (t) => {
      const { run, left } = await startTestSupervisor(t, isolation);
      const ran = await run(sh("sleep 1000 & setsid sleep 1000 & echo started; wait"), { timeoutMs: 1500 });
      assert.deepEqual(ends(ran), { ...EXITED, exitCode: null, signal: "SIGKILL", timedOut: true });
      assert.equal(ran.stdout.toString(), "started\n");
      assert.deepEqual(left(), []);
    });
  });
}
