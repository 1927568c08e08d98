import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { meetsIsolation, probeIsolation, type IsolationProbe } from "../src/sandboxes/probe-isolation.ts";
import { buildSeccompFilter } from "../src/sandboxes/seccomp-filter.ts";
import { startSupervisor } from "../src/supervisor/supervisor.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { isAlive } from "./support/alive.ts";
import { probeHere, startTestSupervisor } from "./support/start-test-supervisor.ts";

const weak: IsolationProbe = {
  isolation: "process",
  means: {
    tools: { setpriv: null, prlimit: null, taskset: null, env: null, envResetsSignals: false, bwrap: null },
    ...{ uids: null, ownUid: false, bubblewrap: null },
  },
  problems: ["bubblewrap is not installed."],
};

test("less than what is asked for is never given, and the refusal says why", () => {
  const strong = { ...weak, isolation: "namespace" as const, problems: [] };
  assert.equal(meetsIsolation(weak, { isolation: "process", network: "on" }), null);
  assert.equal(meetsIsolation(strong, { isolation: "namespace", network: "off" }), null);
  assert.equal(
    meetsIsolation(weak, { isolation: "namespace", network: "on" }),
    "This worker has no namespace isolation. bubblewrap is not installed.",
  );
  for (const probe of [weak, strong])
    assert.match(
      meetsIsolation(probe, { isolation: "process", network: "off" }) ?? "",
      /^A workspace without network/,
    );
});

test("a workspace without network is not started in the process tier", async (t) => {
  const { dataDir, root } = await startTestSupervisor(t, "process");
  const surroundings = { root, env: {}, resources: { cpu: null, memory: null } };
  const materializationId = "mat_refused";
  const starting = startSupervisor({
    ...{ dataDir, materializationId },
    surroundings: { ...surroundings, isolation: "process", network: "off" },
  });
  await assert.rejects(starting, /without network needs namespace isolation/);
  assert.equal(existsSync(supervisorFolder(dataDir, materializationId)), false);
});

test("the probe is made once for a data folder", async (t) => {
  const { dataDir } = await startTestSupervisor(t, "process");
  assert.equal(await probeIsolation({ dataDir }), await probeIsolation({ dataDir: `${dataDir}/.` }));
});

const { means } = await probeHere();
test(
  "no exec and no terminal of the process tier can gain rights",
  { skip: means.tools.setpriv === null && "no setpriv on this machine" },
  async (t) => {
    const { run, begin, collect } = await startTestSupervisor(t, "process");
    const look = ["grep", "NoNewPrivs", "/proc/self/status"];
    assert.equal((await run(look)).stdout.toString(), "NoNewPrivs:\t1\n");
    const id = await begin(look, { kind: "pty", cols: 80, rows: 24 });
    assert.match((await collect(id)).output.toString(), /NoNewPrivs:\s+1\s/);
  },
);

const noUid = means.ownUid ? false : "the agent has no uids to give away here";

describe("a uid of its own in the process tier", { skip: noUid }, () => {
  test("each workspace has another, no rights, and no way into the others' files", async (t) => {
    const [one, other] = [await startTestSupervisor(t, "process"), await startTestSupervisor(t, "process")];
    const uids = await Promise.all(
      [one, other].map(async ({ run }) => (await run(["id", "-u"])).stdout.toString().trim()),
    );
    assert.notEqual(uids[0], uids[1]);
    for (const uid of uids) assert.ok(Number(uid) > 1000, uid);
    const status = await one.run(["grep", "-E", "^(CapEff|NoNewPrivs|Groups):", "/proc/self/status"]);
    assert.match(status.stdout.toString(), /Groups:\t\d* ?\nCapEff:\t0+\nNoNewPrivs:\t1\n/);
    // As the agent makes them.
    for (const { root } of [one, other]) await chmod(root, 0o700);
    const file = join(one.root, "file");
    assert.equal((await one.run(["sh", "-c", "umask 0; echo mine > file"])).exitCode, 0);
    const victim = await one.begin(["sh", "-c", "echo $$; exec sleep 1000"]);
    const pid = Number(await one.readUntil(victim, "\n"));
    for (const [attack, refusal] of [
      ['echo x > "$0"', /Permission denied/],
      ['cat "$0"', /Permission denied/],
      [`ls "/proc/${pid}/cwd/"`, /Permission denied/],
      [`cat /proc/${pid}/environ`, /Permission denied/],
      [`kill -0 ${pid}`, /not permitted/],
    ] as const) {
      const { exitCode, stderr } = await other.run(["sh", "-c", attack, file]);
      assert.notEqual(exitCode, 0, attack);
      assert.match(stderr.toString(), refusal, attack);
    }
    assert.equal(await readFile(file, "utf8"), "mine\n");
    assert.ok(isAlive(pid));
    assert.notEqual((await one.run(["sh", "-c", `kill -0 ${process.pid}`])).exitCode, 0);
  });

  test("a set-uid program of root gives nobody its rights", async (t) => {
    const { run, begin, collect, root } = await startTestSupervisor(t, "process");
    const path = join(root, "id-of-root");
    await copyFile("/usr/bin/id", path);
    await chmod(path, 0o4755);
    const uid = (await run(["/usr/bin/id", "-u"])).stdout.toString().trim();
    assert.notEqual(uid, "0");
    assert.equal((await run([path, "-u"])).stdout.toString().trim(), uid);
    const id = await begin([path, "-u"], { kind: "pty", cols: 80, rows: 24 });
    assert.equal((await collect(id)).output.toString().trim(), uid);
  });

  test("what left its group and cleared its environment is found at the stop", async (t) => {
    const { supervisor, run } = await startTestSupervisor(t, "process");
    const script =
      "env -i /usr/bin/setsid /bin/sh -c 'echo $$ > pid; exec /bin/sleep 1000' >/dev/null 2>&1 & while ! [ -s pid ]; do sleep 0.01; done; cat pid";
    const { stdout } = await run(["sh", "-c", script]);
    const pid = Number(stdout.toString());
    assert.ok(pid > 1);
    await supervisor.stop();
    assert.equal(isAlive(pid), false);
  });
});

/** Runs the filter over one system call, as the kernel does. */
function decide(filter: Buffer, call: { arch: number; number: number; args?: number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.arch, 4);
  for (const [index, value] of (call.args ?? []).entries())
    data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return value;
    if (code === 0x20) {
      accumulator = data.readUInt32LE(value);
      continue;
    }
    const holds =
      code === 0x15
        ? accumulator === value
        : code === 0x35
          ? accumulator >= value
          : (accumulator & value) !== 0;
    at += filter.readUInt8(at * 8 + (holds ? 2 : 3));
  }
  throw new Error("the filter has no end");
}

const ALLOWED = 0x7fff0000;
const REFUSED = 0x00050001;

for (const [name, arch, numbers] of [
  [
    "x64",
    0xc000003e,
    {
      read: 0,
      execve: 59,
      clone: 56,
      unshare: 272,
      ioctl: 16,
      mount: 165,
      ptrace: 101,
      pin: 203,
      socket: 41,
      personality: 135,
    },
  ],
  [
    "arm64",
    0xc00000b7,
    {
      read: 63,
      execve: 221,
      clone: 220,
      unshare: 97,
      ioctl: 29,
      mount: 40,
      ptrace: 117,
      pin: 122,
      socket: 198,
      personality: 92,
    },
  ],
] as const) {
  test(`the ${name} filter refuses what leads out and lets programs be`, () => {
    const filter = buildSeccompFilter(name, { pinned: false });
    const of = (number: number, ...args: number[]): number => decide(filter, { arch, number, args });
    assert.equal(of(numbers.read), ALLOWED);
    assert.equal(of(numbers.execve), ALLOWED);
    assert.equal(of(numbers.mount), REFUSED);
    assert.equal(of(numbers.ptrace), REFUSED);
    // A thread, a fork, and a child in a user namespace.
    assert.equal(of(numbers.clone, 0x3d0f00), ALLOWED);
    assert.equal(of(numbers.clone, 0x1200011), ALLOWED);
    assert.equal(of(numbers.clone, 0x10000011), REFUSED);
    assert.equal(of(numbers.unshare, 0x400), ALLOWED);
    assert.equal(of(numbers.unshare, 0x10000000), REFUSED);
    assert.equal(of(numbers.ioctl, 0, 0x5413), ALLOWED);
    assert.equal(of(numbers.ioctl, 0, 0x5412), REFUSED);
    // The kernel looks at the low half alone.
    assert.equal(of(numbers.ioctl, 0, 0x1_0000_5412), REFUSED);
    assert.equal(of(435), 0x00050026);
    // AF_INET6, AF_VSOCK, and netlink for routes and for all sockets of the machine.
    assert.equal(of(numbers.socket, 10, 1, 0), ALLOWED);
    assert.equal(of(numbers.socket, 40, 1, 0), 0x00050061);
    assert.equal(of(numbers.socket, 16, 3, 0), ALLOWED);
    assert.equal(of(numbers.socket, 16, 3, 4), 0x0005005d);
    assert.equal(of(numbers.personality, 0), ALLOWED);
    assert.equal(of(numbers.personality, 0x40000), REFUSED);
    // lsm_set_self_attr is on no list; file_setattr is younger than the list.
    assert.equal(of(460), REFUSED);
    assert.equal(of(469), 0x00050026);
    assert.equal(of(numbers.pin), ALLOWED);
    assert.equal(decide(buildSeccompFilter(name, { pinned: true }), { arch, number: numbers.pin }), REFUSED);
    assert.equal(decide(filter, { arch: 0x40000003, number: 0 }), 0x80000000);
    if (name === "x64") assert.equal(of(0x40000000 + 59), 0x00050026);
  });
}

test("there is no filter for an architecture without a table", () => {
  assert.throws(() => buildSeccompFilter("riscv64", { pinned: false }), /no system call filter for riscv64/);
});
