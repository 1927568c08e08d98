import type { Queryable } from "../../db/queryable.ts";
import { listJournals, type JournalRow } from "../journal/journal-reads.ts";
import { listAcceptedWaits, listUnacceptedWaits, type WaitRow } from "../waits/wait-reads.ts";
import { listContinuedPayloads } from "../executions/continuation-reads.ts";
import { listReplayedSessions, type ReplayedSession } from "./replay-reads.ts";
import type { LeasedExecution } from "../executions/execution.ts";

/** What a worker needs to take a run up where it was, and the session that it belongs to. JSON is text. */
export type Replay = {
  journal: { entry: JournalRow; wait: WaitRow | undefined }[];
  /** Those that the journal does not have. */
  waits: WaitRow[];
  session: ReplayedSession | null;
  /** What the run goes on with, if it has continued. */
  continued: { payload: string | null } | null;
};

export const NO_REPLAY: Replay = { journal: [], waits: [], session: null, continued: null };

/** By run; a run that has no journal, belongs to no session and has not continued is not in it, and costs no read. */
export async function readReplays(
  db: Queryable,
  executions: readonly LeasedExecution[],
): Promise<Map<string, Replay>> {
  const journaled = executions.filter(({ journalSequence }) => journalSequence > 0);
  const waiting = executions.filter(({ waitCount }) => waitCount > 0);
  const inSession = executions.filter(({ sessionId }) => sessionId !== null);
  const continued = executions.filter(({ continuations }) => continuations > 0);
  if (journaled.length + waiting.length + inSession.length + continued.length === 0) return new Map();
  const [entries, accepted, open, sessions, payloads] = await Promise.all([
    listJournals(db, journaled),
    listAcceptedWaits(db, waiting),
    listUnacceptedWaits(db, waiting),
    listReplayedSessions(db, inSession),
    continued.length === 0 ? [] : listContinuedPayloads(db, continued),
  ]);
  const acceptedByPlace = new Map(accepted.map((wait) => [`${wait.runId} ${wait.position}`, wait]));
  const replays = new Map<string, Replay>();
  for (const { runId, sessionId, continuations } of executions) {
    const payload = payloads.find((row) => row.runId === runId);
    if (continuations > 0 && payload === undefined)
      throw new Error(`What the run ${runId} continues with is gone.`);
    const replay: Replay = {
      journal: entries
        .filter((entry) => entry.runId === runId)
        .map((entry) => ({ entry, wait: acceptedByPlace.get(`${runId} ${entry.position}`) })),
      waits: open.filter((wait) => wait.runId === runId),
      session: sessions.find(({ id }) => id === sessionId) ?? null,
      continued: payload ?? null,
    };
    const hasNone = replay.journal.length + replay.waits.length === 0;
    if (!hasNone || replay.session !== null || replay.continued !== null) replays.set(runId, replay);
  }
  return replays;
}
