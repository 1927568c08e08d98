import { decodeId } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { listExecEntries } from "../journal/journal-reads.ts";
import { controlProcess } from "./control-process.ts";

export type EndedRun = { environmentId: string; runId: string; workspaceId: string };

/**
 * Runs have ended: what they started in their workspaces and is still running is ended with them.
 *
 * @returns the workers to tell.
 */
export async function endRunExecs(tx: Tx, runs: readonly EndedRun[], now: number): Promise<string[]> {
  if (runs.length === 0) return [];
  const entries = await listExecEntries(tx, runs);
  const workspaces = new Map(runs.map(({ runId, workspaceId }) => [runId, workspaceId]));
  const started = entries.flatMap(({ environmentId, runId, value }) => {
    const { id: text } = JSON.parse(value) as { id: string };
    const [id, workspaceId] = [decodeId("exec", text), workspaces.get(runId)];
    return id === null || workspaceId === undefined ? [] : [{ environmentId, workspaceId, id }];
  });
  const inOrder = started.sort((a, b) => (`${a.workspaceId} ${a.id}` < `${b.workspaceId} ${b.id}` ? -1 : 1));
  const workerIds: (string | null)[] = [];
  for (const key of inOrder) workerIds.push(await end(tx, { ...key, kind: "exec" }, now));
  return [...new Set(workerIds)].filter((id) => id !== null);
}

async function end(tx: Tx, key: Parameters<typeof controlProcess>[1], now: number): Promise<string | null> {
  try {
    return (await controlProcess(tx, key, { kind: "signal", signal: "SIGKILL" }, now)).workerId;
  } catch (error) {
    // It has ended by itself, as most have, or its workspace was deleted.
    if (error instanceof DomainError && ["invalid_state", "not_found"].includes(error.code)) return null;
    throw error;
  }
}
