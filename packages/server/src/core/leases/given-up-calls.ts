import { decodeId, type Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { cancelRuns } from "../executions/cancel-runs.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import { listTree } from "../executions/execution-reads.ts";
import { listJournalEntries, type JournalPosition, type JournalRow } from "../journal/journal-reads.ts";
import { endExecs } from "../processes/end-run-execs.ts";
import type { Batch, LeasedOperation } from "./report-batch.ts";

/**
 * Calls that code gives up which have started something: a child run, or a command. A run's own journal says what that is, so nothing of
 * another run or environment is ever ended.
 */

/** The child runs that these operations give up, and all that those have started: they are locked with the runs of the report. */
export async function listGivenUpRuns(
  tx: Tx,
  operations: readonly LeasedOperation[],
): Promise<ExecutionKey[]> {
  const positions = operations.flatMap(({ environmentId, runId, operation }) => {
    const { cancels = [] } = operation.kind === "waits" ? operation : {};
    return cancels.map((position) => ({ environmentId, runId, position }));
  });
  const keys: ExecutionKey[] = [];
  for (const [environmentId, roots] of await listChildren(tx, positions))
    for (const runId of await listTree(tx, environmentId, roots)) keys.push({ environmentId, runId });
  return keys;
}

/** Their ends are asked for as by the API. Those that have ended stay as they are. When the report's journal is written. */
export async function cancelGivenUpRuns(tx: Tx, { givenUp, now }: Batch): Promise<void> {
  for (const [environmentId, roots] of await listChildren(tx, givenUp))
    await cancelRuns(tx, environmentId, roots, now);
}

/** Commands are asked to end, and killed when they do not. When those of the report are made. */
export async function endGivenUpExecs(tx: Tx, { givenUp, facts, now }: Batch): Promise<void> {
  const entries = await listStarted(tx, givenUp, "exec");
  const execs = entries.flatMap(({ environmentId, runId, id: text }) => {
    const workspaceId = facts.runs.get(runId)?.workspaceId ?? null;
    const id = decodeId("exec", text);
    return id === null || workspaceId === null ? [] : [{ environmentId, workspaceId, id }];
  });
  await endExecs(tx, execs, { kind: "close" }, now);
}

/** Runs that these calls have started, by environment. */
async function listChildren(
  db: Queryable,
  positions: readonly JournalPosition[],
): Promise<Map<Uuid<"env">, Uuid<"run">[]>> {
  const children = new Map<Uuid<"env">, Uuid<"run">[]>();
  for (const { environmentId, id } of await listStarted(db, positions, "child_run")) {
    const runId = decodeId("run", id);
    if (runId !== null) children.set(environmentId, [...(children.get(environmentId) ?? []), runId]);
  }
  return children;
}

/** What calls of this kind have started; those that were refused have not. */
async function listStarted(
  db: Queryable,
  positions: readonly JournalPosition[],
  kind: JournalRow["kind"],
): Promise<(ExecutionKey & { id: string })[]> {
  const entries = await listJournalEntries(db, positions);
  return entries.flatMap(({ environmentId, runId, value, ...entry }) =>
    entry.kind !== kind || value === null
      ? []
      : [{ environmentId, runId, id: (JSON.parse(value) as { id: string }).id }],
  );
}
