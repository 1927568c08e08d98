// An agent for a test, in a process of its own: starts a supervisor with a program, says so, and waits to be killed.

import { readFileSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Isolation } from "@keelson/contract";
import { findMarked } from "../../src/sandboxes/find-processes.ts";
import { startSupervisor } from "../../src/supervisor/supervisor.ts";
import { RECORD_FILE, supervisorFolder } from "../../src/supervisor/supervisor-folder.ts";

const { dataDir, isolation } = JSON.parse(process.argv[2] as string) as {
  dataDir: string;
  isolation: Isolation;
};
const materializationId = `mat_owned_${process.pid}`;
const root = join(dataDir, "files");
await mkdir(root, { recursive: true });
await chmod(dataDir, 0o711);
const supervisor = await startSupervisor({
  ...{ dataDir, materializationId, orphanTimeoutMs: 3_000 },
  surroundings: {
    ...{ isolation, root, env: {}, network: isolation === "namespace" ? "off" : "on" },
    resources: { cpu: null, memory: null },
  },
});
const id = "exec_1";
const command = ["sh", "-c", "trap '' HUP TERM; echo ready; while :; do sleep 1; done"];
await supervisor.start({
  id,
  kind: "exec",
  command,
  cwd: "",
  env: {},
  timeoutMs: null,
  cols: null,
  rows: null,
});
await supervisor.readOutput(id, { stdout: 0, stderr: 0, output: 0 });
const path = join(supervisorFolder(dataDir, materializationId), RECORD_FILE);
const { pid } = JSON.parse(readFileSync(path, "utf8")) as { pid: number };
const program = findMarked({ owner: materializationId, processId: id, uid: null }).at(-1);
process.stdout.write(`${JSON.stringify({ materializationId, pid, program })}\n`);
