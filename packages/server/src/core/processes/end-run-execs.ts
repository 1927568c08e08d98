import { decodeId, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { listExecEntries } from "../journal/journal-reads.ts";
import { controlProcess } from "./control-process.ts";
import type { ProcessKey } from "./process-reads.ts";
import type { NewControl } from "./processes.ts";

export type EndedRun = { environmentId: Uuid<"env">; runId: Uuid<"run">; workspaceId: Uuid<"ws"> };

/** Runs have ended: what they started in their workspaces and is still running is ended with them. */
export async function endRunExecs(tx: Tx, runs: readonly EndedRun[], now: number): Promise<void> {
  if (runs.length === 0) return;
  const entries = await listExecEntries(tx, runs);
  const workspaces = new Map(runs.map(({ runId, workspaceId }) => [runId, workspaceId]));
  const started = entries.flatMap(({ environmentId, runId, value }) => {
    const { id: text } = JSON.parse(value) as { id: string };
    const [id, workspaceId] = [decodeId("exec", text), workspaces.get(runId)];
    return id === null || workspaceId === undefined ? [] : [{ environmentId, workspaceId, id }];
  });
  await endExecs(tx, started, { kind: "signal", signal: "SIGKILL" }, now);
}

/** Ends commands by this control, in the order in which workspaces are locked. Those that have ended stay as they are. */
export async function endExecs(
  tx: Tx,
  execs: readonly Omit<ProcessKey, "kind">[],
  control: NewControl,
  now: number,
): Promise<void> {
  const inOrder = [...execs].sort((a, b) =>
    `${a.workspaceId} ${a.id}` < `${b.workspaceId} ${b.id}` ? -1 : 1,
  );
  for (const key of inOrder) await end(tx, { ...key, kind: "exec" }, control, now);
}

async function end(tx: Tx, key: ProcessKey, control: NewControl, now: number): Promise<void> {
  try {
    await controlProcess(tx, key, control, now);
  } catch (error) {
    // It has ended by itself, as most have, or its workspace was deleted.
    if (error instanceof DomainError && ["invalid_state", "not_found"].includes(error.code)) return;
    throw error;
  }
}
