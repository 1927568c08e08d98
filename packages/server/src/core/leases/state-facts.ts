import type { Tx } from "../../db/queryable.ts";
import type { KnownState, SessionKey } from "../sessions/session-state.ts";
import { listSessionStates } from "../sessions/session-state-reads.ts";
import type { RunPlace } from "../waits/wait-source-reads.ts";
import type { LeasedContent, LeasedOperation } from "./report-batch.ts";

/** What operations on the states of sessions are decided by. */

type States = Extract<LeasedContent, { kind: "states" }>;
type Runs = ReadonlyMap<string, RunPlace>;

export const keyOfState = ({ environmentId, sessionId }: SessionKey): string =>
  `${environmentId} ${sessionId}`;

function sessionsOf(
  operations: readonly LeasedOperation[],
  runs: Runs,
  isWanted: (operation: States) => boolean,
): SessionKey[] {
  const keys = operations.flatMap(({ environmentId, runId, operation }) => {
    const sessionId = runs.get(runId)?.sessionId ?? null;
    return operation.kind !== "states" || sessionId === null || !isWanted(operation)
      ? []
      : [{ environmentId, sessionId }];
  });
  return [...new Map(keys.map((key) => [keyOfState(key), key])).values()];
}

/** Sessions whose state is going to be set: they are locked, so that nobody sets it between the comparison and the write. */
export const sessionsToSet = (operations: readonly LeasedOperation[], runs: Runs): SessionKey[] =>
  sessionsOf(operations, runs, ({ action }) => action === "set");

/** The states of sessions, of those that are there. */
export async function readStates(
  tx: Tx,
  operations: readonly LeasedOperation[],
  runs: Runs,
): Promise<Map<string, KnownState>> {
  const rows = await listSessionStates(
    tx,
    sessionsOf(operations, runs, () => true),
  );
  return new Map(rows.map((row) => [keyOfState(row), { value: row.value, version: row.version ?? 0 }]));
}
