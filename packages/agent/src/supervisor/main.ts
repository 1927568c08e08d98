/**
 * A supervisor: the process that runs the execs and terminals of one workspace. It is apart from its agent, so that they
 * survive when the agent is started anew; it ends with all of them when it is told to, or when no agent has come for a
 * while. Only Node's own modules and node-pty are loaded here, to keep it small.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { join } from "node:path";
import { systemClock } from "../clock.ts";
import { prepareSandbox } from "../sandboxes/prepare-sandbox.ts";
import { startGroupReaper } from "../task-hosts/group-reaper.ts";
import type { SupervisorOptions } from "./calls.ts";
import { listen } from "./listen.ts";
import { Supervision } from "./supervision.ts";
import { RECORD_FILE, type SupervisorRecord } from "./supervisor-folder.ts";

const options = JSON.parse(await text(process.stdin)) as SupervisorOptions;
const { folder, materializationId } = options;

// What its agent is told to end with is for the agent.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);

mkdirSync(folder, { recursive: true, mode: 0o700 });
const sandbox = await prepareSandbox(options);
const record: SupervisorRecord = { pid: process.pid, materializationId, uid: sandbox.uid };
writeFileSync(join(folder, RECORD_FILE), JSON.stringify(record), { mode: 0o600 });

const reaper = startGroupReaper((error) =>
  console.error("the shell that ends orphaned processes is gone", error),
);
const supervision = new Supervision(sandbox, systemClock, reaper);

const end = async (): Promise<void> => {
  await supervision.stop();
  reaper.close();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
};

await listen(supervision, { folder, orphanTimeoutMs: options.orphanTimeoutMs, end });
process.stdout.write("ready\n");
