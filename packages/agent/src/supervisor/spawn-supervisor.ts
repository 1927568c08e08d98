import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { affinityArguments } from "../sandboxes/choose-cores.ts";
import { requireRoom } from "../deaths/full-disk.ts";
import { limitServedTime } from "../deaths/served-time.ts";
import { DEFAULT_LIMITS } from "../sandboxes/sandbox.ts";
import { bootSupervisor, wrapperOf, type BootedSupervisor } from "./boot-supervisor.ts";
import type { SupervisorOptions } from "./calls.ts";
import type { SpareSupervisor } from "./spare-supervisor.ts";
import { LOG_FILE } from "./supervisor-folder.ts";

/** Of the time in which the machine lets it run, and on the clock. */
const START_LIMIT = { boundMs: 60_000, longestMs: 300_000 };

/** As it is told, but for what is known only then. */
export type SupervisorStart = Omit<SupervisorOptions, "first"> & { first(): SupervisorOptions["first"] };

/** Starts a supervisor and resolves when it takes calls. It is no child that ends with the agent. */
export async function spawnSupervisor(
  options: SupervisorStart,
  spares: SpareSupervisor | null = null,
): Promise<void> {
  const { folder, means, surroundings, limits } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { isolation, resources } = surroundings;
  const pinned = affinityArguments(means.tools.taskset, resources.cpu, options.materializationId);
  const isUsual = pinned.length === 0 && limits.processes === DEFAULT_LIMITS.processes;
  const spare = isUsual ? (spares?.take(isolation) ?? null) : null;
  if (spare !== null && (await beginsWith(spare, options))) return;
  const wrapper = [...pinned, ...wrapperOf(isolation, means, limits.processes)];
  const booted = bootSupervisor(join(folder, LOG_FILE), wrapper);
  try {
    await begin(booted, options);
  } catch (cause) {
    // It may have ended because of that, without room for a word.
    await requireRoom(folder);
    const words = await readFile(join(folder, LOG_FILE), "utf8").catch(() => "");
    throw new Error(
      `The workspace's supervisor could not be started: ${(cause as Error).message}. ${words.slice(-2000)}`,
      { cause },
    );
  }
}

/** False when the spare one did not become the workspace's: nothing of it is left then. */
async function beginsWith(spare: BootedSupervisor, options: SupervisorStart): Promise<boolean> {
  const { folder } = options;
  try {
    await rename(spare.logPath, join(folder, LOG_FILE));
    await begin(spare, options);
    return true;
  } catch {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return false;
  }
}

/** Tells a booted supervisor whose it is; resolves when it takes calls. When it does not come to that it has ended. */
async function begin({ child }: BootedSupervisor, options: SupervisorStart): Promise<void> {
  let endLimit: (() => void) | undefined;
  const hasEnded = (): boolean =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  try {
    await new Promise<void>((resolve, reject) => {
      endLimit = limitServedTime({
        ...START_LIMIT,
        pid: () => child.pid,
        onOver: (isStarved) =>
          reject(new Error(isStarved ? "the machine is too busy to start it" : "it did not start in time")),
      });
      child.once("error", reject);
      child.once("exit", (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
      child.stdout.once("data", () => resolve());
      if (child.pid !== undefined && hasEnded()) reject(new Error("it has ended"));
      child.stdin.end(JSON.stringify({ ...options, first: options.first() } satisfies SupervisorOptions));
    });
  } catch (error) {
    child.kill("SIGKILL");
    if (!hasEnded()) await new Promise((resolve) => child.once("exit", resolve));
    throw error;
  } finally {
    endLimit?.();
  }
  child.stdout.destroy();
  child.unref();
}
