import { spawn, type ChildProcessByStdio } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { affinityArguments } from "../sandboxes/choose-cores.ts";
import type { SupervisorOptions } from "./calls.ts";
import { LOG_FILE } from "./supervisor-folder.ts";

/** Beside this file as source in development, compiled when published. */
export const SUPERVISOR_ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./main.js", import.meta.url),
);
const START_TIMEOUT_MS = 60_000;

/** Starts a supervisor and resolves when it takes calls. It is no child that ends with the agent. */
export async function spawnSupervisor(options: SupervisorOptions): Promise<void> {
  const { folder, means, surroundings } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const log = openSync(join(folder, LOG_FILE), "w", 0o600);
  const { cpu } = surroundings.resources;
  const pinned = affinityArguments(means.tools.taskset, cpu, options.materializationId);
  const [file, ...args] = [...pinned, process.execPath, SUPERVISOR_ENTRY];
  const child = spawn(file, args, {
    stdio: ["pipe", "pipe", log],
    env: {},
    cwd: "/",
    detached: true,
  }) as ChildProcessByStdio<Writable, Readable, null>;
  closeSync(log);
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("it did not start in time")), START_TIMEOUT_MS);
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      child.once("error", settle);
      child.once("exit", (code, signal) => settle(new Error(`it ended with ${signal ?? code}`)));
      child.stdout.once("data", () => settle());
      child.stdin.on("error", () => undefined);
      child.stdin.end(JSON.stringify(options));
    });
  } catch (cause) {
    child.kill("SIGKILL");
    const words = await readFile(join(folder, LOG_FILE), "utf8").catch(() => "");
    throw new Error(
      `The workspace's supervisor could not be started: ${(cause as Error).message}. ${words.slice(-2000)}`,
      { cause },
    );
  }
  child.stdout.destroy();
  child.unref();
}
