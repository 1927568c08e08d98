import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { runProbe, type IsolationProbe } from "../src/sandboxes/probe-isolation.ts";
import { probeHere, tiersHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";

const skip = (await tiersHere()).find(({ isolation }) => isolation === "namespace")?.skip ?? false;
const { means } = await probeHere();
const bwrap = means.tools.bwrap as string;

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-probe-"));
  await chmod(folder, 0o755);
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * What is found with another bubblewrap: a script that changes the options, one in a line, with `sed` and starts the real one,
 * with more arguments.
 */
async function probeWith(
  t: TestContext,
  { edit = "p", more = "", before = "" }: { edit?: string; more?: string; before?: string },
): Promise<IsolationProbe> {
  const folder = await makeFolder(t);
  const path = join(folder, "bwrap");
  const script = `#!/bin/bash
set -e
mapfile -d '' -t options < <(tr '\\0' '\\n' <&6 | sed -n '${edit}' | tr '\\n' '\\0')
exec 6<&-
shift 2
${before}
exec ${bwrap} "\${options[@]}" ${more} "$@"
`;
  await writeFile(path, script, { mode: 0o755 });
  const dataDir = join(folder, "data");
  const probe = await runProbe(dataDir, { ...means.tools, bwrap: path });
  assert.deepEqual(await readdir(join(dataDir, "probes")), []);
  return probe;
}

describe("a tier that does not hold is not reported", { skip }, () => {
  test("a bubblewrap that does what it is told is", async (t) => {
    const { isolation, problems } = await probeWith(t, {});
    assert.deepEqual({ isolation, problems }, { isolation: "namespace", problems: [] });
  });

  const weakened: { name: string; change: Parameters<typeof probeWith>[1]; reached: RegExp }[] = [
    {
      name: "without the filter of system calls",
      change: { edit: "/^--seccomp$/,+1!p" },
      reached: /ended with 1/,
    },
    {
      name: "with a filter that lets everything through",
      // An allowing program of one instruction: BPF_RET, SECCOMP_RET_ALLOW.
      change: {
        edit: "/^--seccomp$/,+1!p",
        before: "cat <&3 >/dev/null; exec 3<&- 8< <(printf '\\x06\\0\\0\\0\\0\\0\\xff\\x7f')",
        more: "--seccomp 8",
      },
      reached: /reached the system call \S+, the system call/,
    },
    {
      name: "with the machine's network",
      change: { edit: "/^--unshare-net$/!p" },
      reached: /abstract socket of the agent, the loopback address/,
    },
    {
      name: "with the machine's processes",
      change: { edit: "/^--unshare-pid$/!p" },
      reached: /the machine's process ids/,
    },
    {
      name: "with the machine's files",
      change: { more: '--perms 0755 --dir "${0%/*}" --ro-bind "${0%/*}/data" "${0%/*}/data"' },
      reached: /reached a socket of the agent, \/.*target/,
    },
    {
      name: "with passwords",
      change: {
        edit: "/^--remount-ro$/{N;/\\n\\/$/d};p",
        more: "--perms 0644 --file 8 /etc/shadow",
        before: "exec 8< <(echo root)",
      },
      reached: /\/etc\/shadow/,
    },
    {
      name: "with a descriptor left open",
      change: { before: "exec 9</etc/passwd" },
      reached: /the inherited descriptor 9/,
    },
    {
      name: "with a high descriptor left open",
      change: { before: "exec 777</dev/null" },
      reached: /the inherited descriptor 777/,
    },
  ];
  for (const { name, change, reached } of weakened) {
    test(name, async (t) => {
      const { isolation, problems, means: found } = await probeWith(t, change);
      assert.equal(isolation, "process", problems.join(" "));
      assert.equal(found.bubblewrap, null);
      assert.match(problems.join(" "), reached);
    });
  }
});
