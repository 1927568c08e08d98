/**
 * A supervisor: the process that runs the execs and terminals of one workspace. It is apart from its agent, so that they
 * survive when the agent is started anew; it ends with all of them when it is told to, or when no agent has come for a
 * while. Only Node's own modules and node-pty are loaded here, to keep it small.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../clock.ts";
import { prepareSandbox } from "../sandboxes/prepare-sandbox.ts";
import { startGroupReaper } from "../task-hosts/group-reaper.ts";
import type { SupervisorOptions } from "./calls.ts";
import { listen } from "./listen.ts";
import { readWords } from "./read-words.ts";
import { rehearse, type Rehearsal } from "./rehearse.ts";
import { Supervision } from "./supervision.ts";
import { RECORD_FILE, type SupervisorRecord } from "./supervisor-folder.ts";

// What its agent is told to end with is for the agent.
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const) process.on(signal, () => undefined);

const reaper = startGroupReaper(null, (error) =>
  console.error("the shell that ends orphaned processes is gone", error),
);

// It may wait here for a long time, until a workspace needs it; and for nothing, when its agent ends before.
const words = await readWords(process.stdin, (line) => {
  // What is wrong with it the first command meets, and its caller is told.
  void rehearse(JSON.parse(line) as Rehearsal, reaper).catch(() => undefined);
});
if (words === "") process.exit(0);
const options = JSON.parse(words) as SupervisorOptions;
const { folder, materializationId } = options;

mkdirSync(folder, { recursive: true, mode: 0o700 });
const sandbox = prepareSandbox(options);
const record: SupervisorRecord = { pid: process.pid, materializationId, uid: sandbox.uid };
writeFileSync(join(folder, RECORD_FILE), JSON.stringify(record), { mode: 0o600 });

const supervision = new Supervision(sandbox, systemClock, reaper);

for (const spec of options.first) supervision.prepare(spec);

const end = async (): Promise<void> => {
  await supervision.stop();
  reaper.close();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
};

supervision.prepareAhead();
await listen(supervision, { folder, orphanTimeoutMs: options.orphanTimeoutMs, end });
process.stdout.write("ready\n");
