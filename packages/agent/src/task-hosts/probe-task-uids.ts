import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, realpath, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TASK_UIDS } from "../sandboxes/uid-ranges.ts";
import type { UidRange } from "../sandboxes/sandbox.ts";
import { HOST_ENTRY } from "./host-process.ts";

/** What a task host needs: to be started, to read its program, and to write in its folder, by its path. */
const SCRIPT = `
  const [, entry, written] = process.argv;
  require("node:fs").readFileSync(entry);
  require("node:fs").writeFileSync(written, "");`;

/** The uids that task hosts can have here, found out by running Node as one; or why there are none. */
export async function probeTaskUids(
  agentFolder: string,
): Promise<{ range: UidRange; problem: null } | { range: null; problem: string }> {
  const probes = join(agentFolder, "probes");
  let problem = "";
  for (const range of TASK_UIDS) {
    const folder = join(probes, `tasks-${randomBytes(6).toString("hex")}`);
    await mkdir(folder, { recursive: true });
    await chmod(probes, 0o711);
    await chown(folder, range.first, range.first);
    const reason = await tryUid(range.first, folder);
    await rm(folder, { recursive: true, force: true });
    if (reason === null) return { range, problem: null };
    problem = reason;
  }
  const closed = [];
  for (const path of [agentFolder, HOST_ENTRY, process.execPath]) closed.push(...(await findClosed(path)));
  const advice = [...new Set(closed)].map((path) => `Run chmod o+x ${path} to let other users pass.`);
  return { range: null, problem: [problem, ...advice].join(" ") };
}

/** Null when it works, else why it does not. */
function tryUid(uid: number, cwd: string): Promise<string | null> {
  return new Promise((resolve) => {
    const args = ["--eval", SCRIPT, HOST_ENTRY, join(cwd, "written")];
    const child = spawn(process.execPath, args, {
      ...{ cwd, uid, gid: uid, env: {} },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let words = "";
    child.stderr.on("data", (bytes: Buffer) => (words += bytes.toString()));
    child.once("error", (error) => resolve(`A process with the uid ${uid} cannot start: ${error.message}.`));
    child.once("close", (code) =>
      resolve(
        code === 0
          ? null
          : `A process with the uid ${uid} fails: ${/^.*Error: .*$/m.exec(words)?.[0] ?? code}`,
      ),
    );
  });
}

/** The folders on the way to a path that only their owner or group may enter. */
export async function findClosed(path: string): Promise<string[]> {
  const closed: string[] = [];
  for (let folder = dirname(await realpath(path)); ; folder = dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) closed.unshift(folder);
    if (folder === dirname(folder)) return closed;
  }
}
