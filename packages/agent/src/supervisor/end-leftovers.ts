import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { endMarked, endProcess } from "../sandboxes/find-processes.ts";
import { SUPERVISOR_ENTRY } from "./boot-supervisor.ts";
import type { SupervisorPlace } from "./supervisor.ts";
import { RECORD_FILE, supervisorFolder, type SupervisorRecord } from "./supervisor-folder.ts";

/** How long a supervisor whose socket is closed may take to be gone. */
const EXIT_GRACE_MS = 5_000;

/**
 * Waits until a supervisor is gone, which nobody can reach any more, ends what remained and removes its folder.
 *
 * @param known its record, from when it could be reached; it removes its folder before it is gone.
 */
export async function endLeftovers(
  { dataDir, materializationId, logger, cgroups }: SupervisorPlace,
  known: SupervisorRecord | null = null,
): Promise<void> {
  const folder = supervisorFolder(dataDir, materializationId);
  const record = known ?? (await readRecord(folder));
  if (record !== null) await endProcess(record.pid, SUPERVISOR_ENTRY, EXIT_GRACE_MS);
  // First: the kernel ends all at once, whatever they did to their environment.
  await cgroups?.remove(materializationId);
  const left = await endMarked({ owner: materializationId, uid: record?.uid ?? null });
  if (left.length > 0)
    logger?.error({ materializationId, pids: left }, "processes of a workspace could not be ended");
  await rm(folder, { recursive: true, force: true });
}

/** Null when there is none, or it was not written whole. */
export async function readRecord(folder: string): Promise<SupervisorRecord | null> {
  try {
    return JSON.parse(await readFile(join(folder, RECORD_FILE), "utf8")) as SupervisorRecord;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
