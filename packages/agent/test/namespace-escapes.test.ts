import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const sh = (script: string): string[] => ["sh", "-c", script];
const skip = (await tiersHere()).find(({ isolation }) => isolation === "namespace")?.skip ?? false;

/** What programs need: libraries, certificates, host names, services, the time, shells, and users of the sandbox's own. */
const IN_ETC = [
  ..."alternatives bash.bashrc group hosts ld.so.cache localtime nsswitch.conf os-release passwd pki profile".split(
    " ",
  ),
  ..."resolv.conf services ssl".split(" "),
];

/** What the script printed, both outputs together. */
async function say({ run }: TestSupervisor, script: string): Promise<string> {
  const { stdout, stderr } = await run(sh(script), { timeoutMs: 60_000 });
  return stdout.toString() + stderr.toString();
}

const start = (
  t: TestContext,
  options: Parameters<typeof startTestSupervisor>[2] = {},
): Promise<TestSupervisor> => startTestSupervisor(t, "namespace", options);

/** A script that makes a system call by its x64 or arm64 number; strings are variables, as perl wants them. */
function systemCall(name: string, numbers: [x64: number, arm64: number], args: string): string {
  const number = numbers[process.arch === "arm64" ? 1 : 0];
  return `perl -e '$! = 0; ($n, $t, $f, $c) = ("none", "/tmp", "tmpfs", "x"); $r = syscall(${number}, ${args}); print "${name} ", ($r == -1 ? "refused " . ($!+0) : "allowed"), "\n"'`;
}

describe("out of the namespace tier there is no way", { skip }, () => {
  test("only its own processes are seen, and none of the agent's can be reached", async (t) => {
    const scene = await start(t);
    const seen = (await say(scene, "cat /proc/[0-9]*/comm | sort | tr '\\n' ' '")).trim().split(/\s+/);
    for (const name of seen) assert.ok(["bwrap", "sh", "cat", "sort", "tr"].includes(name), name);
    assert.match(await say(scene, `kill -0 ${process.pid} || echo unreachable`), /unreachable/);
  });

  test("the machine's files are not there: not the agent's data, not homes, not passwords", async (t) => {
    const scene = await start(t);
    await writeFile(join(scene.dataDir, "secret"), "of the agent");
    for (const path of [
      join(scene.dataDir, "secret"),
      scene.dataDir,
      ...(homedir() === "/" ? [] : [homedir()]),
      "/home",
      "/etc/shadow",
      "/etc/ssh",
      "/var/lib",
      "/sys",
      "/boot",
    ]) {
      assert.match(await say(scene, `ls -d ${path} || echo not-there`), /not-there/, path);
    }
    assert.match(await say(scene, "cat /proc/1/root/etc/shadow || echo no"), /no$/m);
    const ofEtc = (await say(scene, "ls -A /etc")).trim().split("\n");
    assert.deepEqual(
      ofEtc.filter((name) => !IN_ETC.includes(name)),
      [],
    );
    const passwd = await say(scene, "cat /etc/passwd; id -un");
    assert.match(passwd, /^workspace$/m);
    assert.equal(passwd.split("\n").filter((line) => line.includes(":")).length, 3);
  });

  test("nothing outside of the workspace and /tmp can be written", async (t) => {
    const scene = await start(t);
    for (const path of [
      "/usr/x",
      "/bin/x",
      "/etc/x",
      "/x",
      "/dev/x",
      "/proc/sys/kernel/hostname",
      "/run/x",
      "/etc/passwd",
    ])
      assert.match(await say(scene, `(echo x > ${path}) 2>&1 && echo WRITTEN`), /^(?!.*WRITTEN)/s, path);
    assert.equal(await say(scene, "echo x > /tmp/x && echo x > /workspace/x && echo both"), "both\n");
  });

  test("/tmp is in memory, bounded, and gone with the process", async (t) => {
    const scene = await start(t, { surroundings: { resources: { cpu: null, memory: 64 } } });
    assert.match(await say(scene, "head -c 80000000 /dev/zero > /tmp/x"), /No space left/);
    assert.match(await say(scene, "head -c 80000000 /dev/zero > /dev/shm/x"), /No space left/);
    assert.match(await say(scene, "ls /tmp | wc -l"), /^0$/m);
  });

  test("there is no network but its own loopback", async (t) => {
    const scene = await start(t);
    const server = createServer((socket) => socket.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanUp(t, () => server.close());
    const { port } = server.address() as { port: number };
    assert.equal((await say(scene, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")).trim(), "lo");
    const { stdout, exitCode } = await scene.run([
      "bash",
      "-c",
      `exec 5<>/dev/tcp/127.0.0.1/${port} && cat <&5`,
    ]);
    assert.notEqual(exitCode, 0);
    assert.equal(stdout.toString(), "");
  });

  test("with network, the machine's is shared", async (t) => {
    const scene = await start(t, { surroundings: { network: "on" } });
    const server = createServer((socket) => socket.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanUp(t, () => server.close());
    const { port } = server.address() as { port: number };
    const { stdout } = await scene.run(["bash", "-c", `exec 5<>/dev/tcp/127.0.0.1/${port} && cat <&5`]);
    assert.equal(stdout.toString(), "reached");
  });

  test("no rights are held, and none can be gained", async (t) => {
    const scene = await start(t);
    const status = await say(
      scene,
      "grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status",
    );
    assert.match(status, /CapPrm:\t0+\nCapEff:\t0+\nCapAmb:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n/);
    assert.doesNotMatch(await say(scene, "id -u"), /^0$/m);
    // A program that belongs to root and says that whoever runs it becomes root.
    const su = await say(
      scene,
      "for f in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do [ -u $f ] && echo set-uid; done; su -c id 2>&1",
    );
    assert.doesNotMatch(su, /uid=0/);
  });

  test("the system calls that would lead out are refused", async (t) => {
    const scene = await start(t);
    if (!/perl/.test(await say(scene, "command -v perl"))) return t.skip("no perl to make system calls with");
    const calls: [name: string, numbers: [number, number], args: string][] = [
      ["ptrace", [101, 117], "0, 0, 0, 0"],
      ["mount", [165, 40], "$n, $t, $f, 0, 0"],
      ["umount2", [166, 39], "$t, 0"],
      ["unshare(NEWUSER)", [272, 97], "0x10000000"],
      ["unshare(NEWNS)", [272, 97], "0x20000"],
      ["clone(NEWUSER)", [56, 220], "0x10000011, 0, 0, 0, 0"],
      ["setns", [308, 268], "0, 0"],
      ["bpf", [321, 280], "0, 0, 0"],
      ["keyctl", [250, 219], "0, 0, 0"],
      ["perf_event_open", [298, 241], "0, 0, 0, 0, 0"],
      ["userfaultfd", [323, 282], "0"],
      ["io_uring_setup", [425, 425], "1, 0"],
      ["chroot", [161, 51], "$t"],
      ["ioctl(TIOCSTI)", [16, 29], "0, 0x5412, $c"],
      ["process_vm_readv", [310, 270], "1, 0, 0, 0, 0, 0"],
    ];
    for (const [name, numbers, args] of calls)
      assert.equal(await say(scene, systemCall(name, numbers, args)), `${name} refused 1\n`);
    // A filter cannot see its flags; libraries use `clone` when it is not there.
    assert.equal(await say(scene, systemCall("clone3", [435, 435], "0, 0")), "clone3 refused 38\n");
    assert.equal(await say(scene, systemCall("getppid", [110, 173], "0")), "getppid allowed\n");
  });

  test("a terminal cannot be typed into by what runs in it", async (t) => {
    const scene = await start(t);
    if (!/perl/.test(await say(scene, "command -v perl"))) return t.skip("no perl to make system calls with");
    const script = systemCall("TIOCSTI", [16, 29], "0, 0x5412, $c");
    const id = await scene.begin(sh(script), { id: "pty_sti", kind: "pty", cols: 80, rows: 24 });
    assert.match((await scene.collect(id)).output.toString(), /TIOCSTI refused 1/);
  });

  test("a fork bomb reaches its limit, and everything else goes on", async (t) => {
    const scene = await start(t, { limits: { processes: 40 } });
    const bomb = "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; echo survived";
    const { stderr, stdout } = await scene.run(sh(bomb), { timeoutMs: 60_000 });
    assert.match(stderr.toString(), /fork/i);
    assert.doesNotMatch(stdout.toString(), /survived/);
    assert.deepEqual(scene.left(), []);
    assert.equal((await scene.run(["true"])).exitCode, 0);
  });

  test("a program that takes too much memory does not get it", async (t) => {
    const scene = await start(t, { surroundings: { resources: { cpu: null, memory: 100 } } });
    const { exitCode, signal } = await scene.run(
      sh("head -c 300000000 /dev/zero | tail -c 290000000 | wc -c; exit 0"),
    );
    assert.equal(signal ?? exitCode, 0);
    const words = await say(scene, "head -c 300000000 /dev/zero | tail -c 290000000 | wc -c");
    assert.match(words, /exhausted|allocate/);
    assert.equal(
      (await say(scene, "head -c 30000000 /dev/zero | tail -c 29000000 | wc -c")).trim(),
      "29000000",
    );
  });

  test("a file that grows too large is cut off", async (t) => {
    const scene = await start(t, { limits: { fileBytes: 1_000_000 } });
    const { signal, exitCode } = await scene.run([
      "dd",
      "if=/dev/zero",
      "of=large",
      "bs=100000",
      "count=100",
    ]);
    assert.ok(signal === "SIGXFSZ" || exitCode === 1, `${signal} ${exitCode}`);
    assert.ok((await stat(join(scene.root, "large"))).size <= 1_000_000);
  });

  test("a number of cores is held to", async (t) => {
    const cores = /^Cpus_allowed_list:\s*0-(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (cores === undefined || Number(cores) < 1) return t.skip("one core only, or an uncommon set of them");
    const scene = await start(t, { surroundings: { resources: { cpu: 1, memory: null } } });
    assert.equal((await say(scene, "nproc")).trim(), "1");
    assert.match(await say(scene, `taskset -pc 0-${cores} $$ 2>&1; nproc`), /not permitted[^]*^1$/m);
  });

  test("two workspaces do not see each other", async (t) => {
    const [one, other] = [await start(t), await start(t)];
    await one.begin(["sleep", "1000"]);
    await writeFile(join(one.root, "mine"), "x");
    assert.equal((await say(other, "cat /proc/[0-9]*/comm | grep -c sleep")).trim(), "0");
    assert.match(await say(other, `cat ${join(one.root, "mine")} || echo not-there`), /not-there/);
  });
});
