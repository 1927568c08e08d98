import type { RunFailure, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processEach, processInBatches } from "../loop-failures/process-items.ts";
import { endOpenMessages } from "../streams/end-open-messages.ts";
import { endWithRun } from "../streams/message.ts";
import { endRunExecs } from "../processes/end-run-execs.ts";
import { settleEndedRun } from "../sessions/settle-ended-run.ts";
import type { TurnContext } from "../sessions/start-turn.ts";
import { settleChildWaits } from "../waits/settle-waits.ts";
import { listSessionEndings, lockEndings, type Ending } from "./ending-reads.ts";
import { takeEndings } from "./ending-writes.ts";

const LIMIT = 200;
const LOOP = "settle-endings";

const itemOf = ({ environmentId, runId }: Ending) => ({ environmentId, itemId: runId });

/**
 * Tells of ends that somebody waits for, and forgets them: in transactions of their own after the one in which the runs
 * ended, because sessions and waiting runs are locked before the runs that they wait for. A row that another replica is
 * at is left to it.
 */
export async function settleEndings(context: TurnContext & ItemContext): Promise<void> {
  await processInBatches(context, {
    loop: LOOP,
    limit: LIMIT,
    itemOf,
    take: async (tx, limit, now) => {
      const rows = await lockEndings(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: async (tx, endings, now) => settleWaitsAndExecs(tx, endings, await takeEndings(tx, endings), now),
  });
  for (let isFull = true; isFull;) {
    const endings = await listSessionEndings(context.db, context.clock(), LIMIT);
    // Each in its own: the locks of two sessions and their runs are taken one after the other.
    await processEach(context, LOOP, endings, itemOf, (ending) =>
      context.db.transaction((tx) => settleOfSession(tx, context, ending, ending.sessionId as Uuid<"sess">)),
    );
    isFull = endings.length === LIMIT;
  }
}

async function settleOfSession(
  tx: Tx,
  context: TurnContext,
  ending: Ending,
  sessionId: Uuid<"sess">,
): Promise<void> {
  const { status } = ending;
  const taken = await takeEndings(tx, [ending]);
  if (taken.length === 0) return;
  // Before the session goes on: the next turn's messages come after the ends of this one's.
  const { newUuid } = context;
  await endOpenMessages(tx, [{ ...ending, sessionId }], (message) => endWithRun(message, status), {
    newUuid,
    now: context.clock(),
  });
  const failure = ending.failure === null ? null : (JSON.parse(ending.failure) as RunFailure);
  await settleEndedRun(tx, context, { ...ending, sessionId, failure });
  await settleWaitsAndExecs(tx, [ending], taken, context.clock());
}

/** Of the endings that were taken: waiting runs first, workspaces last. */
async function settleWaitsAndExecs(
  tx: Tx,
  endings: readonly Ending[],
  taken: readonly { environmentId: Uuid<"env">; runId: Uuid<"run"> }[],
  now: number,
): Promise<void> {
  await settleChildWaits(tx, taken, now);
  const ids = new Set(taken.map(({ runId }) => runId));
  const inWorkspaces = endings.flatMap(({ environmentId, runId, workspaceId }) =>
    workspaceId === null || !ids.has(runId) ? [] : [{ environmentId, runId, workspaceId }],
  );
  await endRunExecs(tx, inWorkspaces, now);
}
