import type { TerminalRunStatus } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { endRunExecs } from "../processes/end-run-execs.ts";
import { settleEndedRun } from "../sessions/settle-ended-run.ts";
import type { TurnContext } from "../sessions/start-turn.ts";
import { joinEffects, NO_STREAM_EFFECTS, type StreamEffects } from "../streams/stream-effects.ts";
import { settleChildWaits } from "./settle-waits.ts";

const LIMIT = 200;

type Ending = {
  environmentId: string;
  runId: string;
  sessionId: string | null;
  workspaceId: string | null;
  status: TerminalRunStatus;
  failure: string | null;
};

/**
 * Tells of ends that somebody waits for, and forgets them: in transactions of their own after the one in which the runs
 * ended, because sessions and waiting runs are locked before the runs that they wait for. A row that another replica is
 * at is left to it. What each transaction changed is handed out once it is durable.
 */
export async function* settleEndings(context: TurnContext & { db: Database }): AsyncGenerator<StreamEffects> {
  for (;;) {
    const endings = await context.db.query<Ending>(sql`
      SELECT a.environment_id AS "environmentId", a.run_id AS "runId", r.session_id AS "sessionId",
        r.workspace_id AS "workspaceId", x.status, x.failure
      FROM awaited_endings a
      JOIN runs r ON r.environment_id = a.environment_id AND r.id = a.run_id
      JOIN run_results x ON x.environment_id = a.environment_id AND x.run_id = a.run_id
      LIMIT ${LIMIT}`);
    const alone = endings.filter(({ sessionId }) => sessionId === null);
    if (alone.length > 0)
      yield await context.db.transaction(async (tx) => {
        const taken = await takeEndings(tx, alone);
        return settleWaitsAndExecs(tx, alone, taken, context.clock());
      });
    // Each in its own: the locks of two sessions and their runs are taken one after the other.
    for (const ending of endings) {
      if (ending.sessionId !== null)
        yield await context.db.transaction((tx) =>
          settleOfSession(tx, context, ending, ending.sessionId as string),
        );
    }
    if (endings.length < LIMIT) return;
  }
}

async function settleOfSession(
  tx: Tx,
  context: TurnContext,
  ending: Ending,
  sessionId: string,
): Promise<StreamEffects> {
  const { environmentId, runId, status, failure } = ending;
  const taken = await takeEndings(tx, [ending]);
  if (taken.length === 0) return NO_STREAM_EFFECTS;
  const failureMessage = failure === null ? null : (JSON.parse(failure) as { message: string }).message;
  const told = await settleEndedRun(tx, context, { environmentId, runId, sessionId, status, failureMessage });
  return joinEffects([told, await settleWaitsAndExecs(tx, [ending], taken, context.clock())]);
}

/** Of the endings that were taken: waiting runs first, workspaces last. */
async function settleWaitsAndExecs(
  tx: Tx,
  endings: readonly Ending[],
  taken: readonly { environmentId: string; runId: string }[],
  now: number,
): Promise<StreamEffects> {
  const settled = await settleChildWaits(tx, taken, now);
  const ids = new Set(taken.map(({ runId }) => runId));
  const inWorkspaces = endings.flatMap(({ environmentId, runId, workspaceId }) =>
    workspaceId === null || !ids.has(runId) ? [] : [{ environmentId, runId, workspaceId }],
  );
  const workspaceWorkerIds = await endRunExecs(tx, inWorkspaces, now);
  return {
    ...NO_STREAM_EFFECTS,
    settled: { ...settled, workspaceWorkerIds: [...settled.workspaceWorkerIds, ...workspaceWorkerIds] },
  };
}

const takeEndings = (
  tx: Tx,
  endings: readonly Ending[],
): Promise<{ environmentId: string; runId: string }[]> =>
  tx.query(sql`
    DELETE FROM awaited_endings a
    USING (
      SELECT t.environment_id, t.run_id FROM awaited_endings t
      JOIN unnest(${endings.map((e) => e.environmentId)}::uuid[], ${endings.map((e) => e.runId)}::uuid[]) AS k (environment_id, run_id)
        ON t.environment_id = k.environment_id AND t.run_id = k.run_id
      ORDER BY t.environment_id, t.run_id
      FOR UPDATE OF t SKIP LOCKED
    ) k
    WHERE a.environment_id = k.environment_id AND a.run_id = k.run_id
    RETURNING a.environment_id AS "environmentId", a.run_id AS "runId"`);
