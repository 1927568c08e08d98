import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { buildAttackProgram, readAnswers, type SystemCall } from "../src/sandboxes/attack-program.ts";
import {
  ALLOWED_CALLS,
  CHECKED_CALLS,
  FIRST_UNKNOWN,
  type Architecture,
} from "../src/sandboxes/system-calls.ts";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";

const skip = (await tiersHere()).find(({ isolation }) => isolation === "namespace")?.skip ?? false;
const architecture = process.arch as Architecture;
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [-1, -38, -93, -97];

/** What the kernel answers to the calls of a program in a workspace. */
async function attack(scene: TestSupervisor, calls: SystemCall[]): Promise<number[]> {
  const path = join(scene.root, "attack");
  await writeFile(path, buildAttackProgram(architecture, calls));
  await chmod(path, 0o755);
  const { stdout, exitCode, signal } = await scene.run(["/workspace/attack"]);
  assert.equal(signal ?? exitCode, 0);
  return readAnswers(stdout, calls.length) ?? assert.fail(`${stdout.length} bytes of answers`);
}

const checked = (name: keyof typeof CHECKED_CALLS, ...args: SystemCall["args"]): SystemCall => ({
  number: CHECKED_CALLS[name][architecture],
  args,
});

describe("system calls of a program in the namespace tier", { skip }, () => {
  test("every number that is not on the list is refused, and every younger one unknown", async (t) => {
    const scene = await startTestSupervisor(t, "namespace");
    const known = new Set<number | null>(
      [...ALLOWED_CALLS.values(), ...Object.values(CHECKED_CALLS)].map((numbers) => numbers[architecture]),
    );
    const numbers = Array.from({ length: 1024 }, (_, number) => number).filter(
      (number) => !known.has(number),
    );
    const answers = await attack(
      scene,
      numbers.map((number) => ({ number, args: [] })),
    );
    for (const [index, number] of numbers.entries())
      assert.equal(answers[index], number < FIRST_UNKNOWN ? EPERM : ENOSYS, `system call ${number}`);
    t.diagnostic(`${numbers.length} numbers were tried`);
  });

  test(
    "the numbers of another calling convention are unknown",
    { skip: architecture !== "x64" },
    async (t) => {
      const scene = await startTestSupervisor(t, "namespace");
      const x32 = [0, 56, 59, 520, 547].map((number) => ({ number: 0x4000_0000 + number, args: [] }));
      assert.deepEqual(
        await attack(scene, x32),
        x32.map(() => ENOSYS),
      );
    },
  );

  test("what depends on arguments is refused by them", async (t) => {
    const scene = await startTestSupervisor(t, "namespace");
    const namespaces = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
    const families = Array.from({ length: 64 }, (_, family) => family).filter(
      (family) => ![1, 2, 10, 16].includes(family),
    );
    const expected: [answer: number, call: SystemCall][] = [
      [ENOSYS, checked("clone3")],
      ...namespaces.flatMap((flag): [number, SystemCall][] => [
        [EPERM, checked("clone", flag | 17)],
        [EPERM, checked("unshare", flag)],
      ]),
      [EPERM, checked("unshare", 0x80)],
      ...[0x40000, 0x400000, 6].map((kind): [number, SystemCall] => [EPERM, checked("personality", kind)]),
      [0, checked("personality", 0xffffffff)],
      ...families.map((family): [number, SystemCall] => [EAFNOSUPPORT, checked("socket", family, 1)]),
      ...[2, 10, 16, 40].map((family): [number, SystemCall] => [
        EAFNOSUPPORT,
        checked("socketpair", family, 1, 0, Buffer.alloc(8)),
      ]),
      // All of netlink but the addresses and routes.
      ...Array.from({ length: 31 }, (_, index): [number, SystemCall] => [
        EPROTONOSUPPORT,
        checked("socket", 16, 3, index + 1),
      ]),
      ...[0x5412, 0x541c].map((request): [number, SystemCall] => [
        EPERM,
        checked("ioctl", 0, request, Buffer.from("x")),
      ]),
    ];
    const answers = await attack(
      scene,
      expected.map(([, call]) => call),
    );
    for (const [index, [answer, { number, args }]] of expected.entries())
      assert.equal(answers[index], answer, `system call ${number} with ${args.join(", ")}`);
  });

  test("sockets of the usual families, threads and pairs of sockets are to be had", async (t) => {
    const scene = await startTestSupervisor(t, "namespace");
    const answers = await attack(scene, [
      ...[1, 2, 10].map((family) => checked("socket", family, 1)),
      checked("socket", 16, 3, 0),
      checked("socketpair", 1, 1, 0, Buffer.alloc(8)),
      checked("unshare", 0x400),
      checked("personality", 0),
    ]);
    for (const answer of answers) assert.ok(answer >= 0, answers.join(" "));
  });
});

/** A program, what it prints, and what it needs that may not be on this machine. */
type Ordinary = { name: string; needs: string; command: string[]; prints: RegExp };

const sh = (script: string): string[] => ["sh", "-c", script];
const C_PROGRAM = `#include <pthread.h>
#include <stdio.h>
static void *say(void *arg) { puts("from a thread"); return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, say, 0); return pthread_join(t, 0); }`;

const ORDINARY: Ordinary[] = [
  { name: "a shell with pipes", needs: "sh", command: sh("seq 3 | sort -r | head -1"), prints: /^3\n$/ },
  {
    name: "Node.js with a worker, a child and a server",
    needs: "node",
    command: [
      "node",
      "-e",
      `const { Worker } = require("worker_threads"); const { execFileSync } = require("child_process");
       const { createServer, connect } = require("net"); const os = require("os");
       new Worker("require('worker_threads').parentPort.postMessage(1)", { eval: true }).on("message", () => {
         createServer((s) => s.end("served")).listen(0, "127.0.0.1", function () {
           connect(this.address().port, "127.0.0.1").on("data", (d) => {
             console.log(String(d), String(execFileSync("echo", ["child"])).trim(), Object.keys(os.networkInterfaces()).length > 0);
             process.exit();
           });
         });
       });`,
    ],
    prints: /^served child true\n$/,
  },
  {
    name: "Python with threads, processes and a name looked up",
    needs: "/usr/bin/python3",
    command: [
      "/usr/bin/python3",
      "-c",
      `import threading, multiprocessing, socket, subprocess, tempfile, mmap
def work(q): q.put(6 * 7)
q = multiprocessing.Queue()
p = multiprocessing.Process(target=work, args=(q,)); p.start(); print(q.get()); p.join()
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()
print(socket.getaddrinfo("localhost", 80)[0][1].name, subprocess.check_output(["echo", "child"]).decode().strip())`,
    ],
    prints: /^42\nthread\nSOCK_\w+ child\n$/,
  },
  {
    name: "git",
    needs: "git",
    command: sh(
      "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git gc -q && git log --format=%s",
    ),
    prints: /^one\n$/,
  },
  {
    name: "a C compiler and what it made",
    needs: "gcc",
    command: sh(`printf '%s' "$0" > a.c && gcc -pthread -o a a.c && ./a`).concat(C_PROGRAM),
    prints: /^from a thread\n$/,
  },
  {
    name: "Perl",
    needs: "perl",
    command: [
      "perl",
      "-e",
      'if (my $p = fork) { waitpid $p, 0; print "parent\\n" } else { print "child\\n" }',
    ],
    prints: /^child\nparent\n$/,
  },
  { name: "Go", needs: "go", command: ["go", "version"], prints: /^go version/ },
  { name: "Java", needs: "java", command: sh("java -Xmx64m -version 2>&1"), prints: /version/ },
  {
    name: "a browser with its JIT",
    needs: "/usr/lib/chromium/chromium",
    command: sh(
      "/usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --user-data-dir=/tmp/profile --dump-dom 'data:text/html,<script>let s=0;for(let i=0;i<1e6;i++)s+=i%7;document.write(s)</script>' 2>/tmp/said || tail -5 /tmp/said",
    ),
    prints: /2999997/,
  },
  {
    name: "a named pipe and its reader",
    needs: "mkfifo",
    command: sh("mkfifo p && (echo x > p &) && cat p"),
    prints: /^x\n$/,
  },
];

/** Where the programs of a workspace are found. */
const isHere = (program: string): boolean =>
  ["", "/usr/local/bin/", "/usr/bin/", "/bin/"].some((folder) => existsSync(folder + program));

describe("ordinary programs run in the namespace tier", { skip }, () => {
  for (const { name, needs, command, prints } of ORDINARY) {
    test(name, { skip: !isHere(needs) && `no ${needs} on this machine` }, async (t: TestContext) => {
      const scene = await startTestSupervisor(t, "namespace");
      const { stdout, stderr } = await scene.run(command, { timeoutMs: 120_000 });
      assert.match(stdout.toString(), prints, stderr.toString().slice(-2000));
    });
  }
});

/** Of Debian and others; arm64 has the numbers of `asm-generic`, some under names of their own for 64 bits. */
const HEADERS: Record<Architecture, { path: string; entry: RegExp }> = {
  x64: { path: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", entry: /^#define __NR_(\w+)\s+(\d+)$/gm },
  arm64: { path: "/usr/include/asm-generic/unistd.h", entry: /^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm },
};
/** What `asm-generic` calls otherwise. */
const GENERIC_NAMES: Record<string, string> = { newfstatat: "fstatat" };

for (const [name, { path, entry }] of Object.entries(HEADERS) as [Architecture, (typeof HEADERS)["x64"]][]) {
  test(`the numbers for ${name} are the kernel's`, { skip: !existsSync(path) && `no ${path} here` }, () => {
    const defined = readFileSync(path, "utf8").matchAll(entry);
    const kernels = new Map([...defined].map(([, call = "", number]) => [call, Number(number)]));
    // How many there are is not one of them.
    kernels.delete("syscalls");
    const newest = Math.max(...kernels.values());
    for (const [call, numbers] of [...ALLOWED_CALLS, ...Object.entries(CHECKED_CALLS)]) {
      const number = numbers[name];
      // The headers may be older than the table; the two for probes are of the newest kernels and have low numbers.
      if (number === null || number > newest || call.endsWith("probe")) continue;
      assert.equal(number, kernels.get(name === "arm64" ? (GENERIC_NAMES[call] ?? call) : call), call);
    }
  });
}

test("the attacking program for arm64 is what an assembler makes of it", () => {
  const program = buildAttackProgram("arm64", [{ number: 172, args: [] }]);
  const entry = Number(program.readBigUInt64LE(24)) - 0x40_0000;
  const words = Array.from({ length: 12 }, (_, index) => program.readUInt32LE(entry + index * 4));
  assert.deepEqual(
    words.slice(4).map((word) => word.toString(16)),
    // ldp x8, x0, [x19]; ldp x1, x2, [x19, 16]; ldp x3, x4, [x19, 32]; ldr x5, [x19, 48]; svc 0;
    // str x0, [x20], 8; add x19, x19, 56; b to the first
    ["a9400268", "a9410a61", "a9421263", "f9401a65", "d4000001", "f8008680", "9100e273", "17fffff9"],
  );
  assert.deepEqual(
    words.slice(0, 4).map((word) => (word & 0xffe0001f) >>> 0),
    // movz x19, …, lsl 16; movk x19, …; the same for x20
    [0xd2a00013, 0xf2800013, 0xd2a00014, 0xf2800014],
  );
});
