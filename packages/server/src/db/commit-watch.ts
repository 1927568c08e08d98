// Knows whether PostgreSQL confirms commits. It does not while the standby is gone that it has to wait for: then each commit hangs
// for as long as that lasts, without an error, and no limit of PostgreSQL's ends it. Reads are as quick as ever.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { ask } from "./ask.ts";
import { openSession, sever } from "./open-session.ts";

/** Said of a write that was not even begun. */
export class CommitsHangError extends Error {
  override readonly name = "CommitsHangError";

  constructor() {
    super("PostgreSQL confirms no commit. Is the standby there that it waits for?");
  }
}

export interface CommitWatch {
  isHanging(): boolean;
  /**
   * Undefined while nothing speaks against commits. Else what to wait for before a write: it takes about a second to find out whether it
   * is the commits that hang, or a connection.
   *
   * @throws CommitsHangError while no commit is confirmed; what it returns rejects with it.
   */
  check(): Promise<void> | undefined;
  /** A commit was not confirmed in the time that it has. Its connection may have fallen silent as well. */
  suspect(): void;
  close(): void;
}

export interface CommitWatchOptions {
  /** URL that bypasses a pooler. */
  readonly url: string;
  /** How long a commit is waited for until another is sent on a new connection: one that fell silent is never heard again. */
  readonly answerMs: number;
  readonly onChange: (isHanging: boolean) => void;
}

const APPLICATION_NAME = "keelson-commits";
const CONNECT_MS = 2_000;
/** How long PostgreSQL has for a commit of ours, after it has not confirmed somebody else's. */
const CONFIRM_MS = 1_000;
const AGAIN_MS = 1_000;

/** From the first commit that is not confirmed, one of its own is waited for: one connection, and not one for each caller. */
export function createCommitWatch({ url, answerMs, onChange }: CommitWatchOptions): CommitWatch {
  const closed = new AbortController();
  let isWatching = false;
  let isHanging = false;
  let verdict: PromiseWithResolvers<void> | null = null;
  const decide = (hangs: boolean): void => {
    if (isHanging !== hangs) onChange((isHanging = hangs));
    verdict?.resolve();
    verdict = null;
  };
  const watch = async (): Promise<void> => {
    let last: number | null = null;
    while (!closed.signal.aborted) {
      const commit = await beginCommit(url, { last, answerMs, closed: closed.signal });
      if (commit === null) break;
      last = commit.pid;
      const late = setTimeout(decide, CONFIRM_MS, true);
      const isOver = await commit.isOver;
      clearTimeout(late);
      if (isOver) break;
      // What is known of commits stays as it was: this says something of a connection.
      decide(isHanging);
      await sleep(AGAIN_MS, null, { signal: closed.signal }).catch(() => null);
    }
    isWatching = false;
    decide(false);
  };
  const check = (): void => {
    if (isHanging) throw new CommitsHangError();
  };
  return {
    isHanging: () => isHanging,
    check: () => {
      check();
      return verdict?.promise.then(check);
    },
    suspect: () => {
      if (isWatching || closed.signal.aborted) return;
      isWatching = true;
      verdict = Promise.withResolvers();
      void watch();
    },
    close: () => closed.abort(),
  };
}

type Commit = {
  /** The backend that waits for it. */
  pid: number;
  /** Resolves when it is confirmed, or refused: who may not write it is told nothing by it. False when its connection was lost, or silent. */
  isOver: Promise<boolean>;
};

/** Also ends the backend that waits for the last one, which may be for ever, and of which nobody hears. */
const beginning = (last: number | null): pg.QueryConfig => ({
  text: `
    SELECT pg_backend_pid() AS pid, (
      SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
      WHERE pid = $1::integer AND application_name = $2 AND usename = current_user
    ) AS ended`,
  values: [last, APPLICATION_NAME],
});

/** A message that nobody reads: the least that a commit has to be confirmed for. */
const COMMIT = { text: "SELECT pg_logical_emit_message(true, 'keelson', '')" };

/** Null when PostgreSQL cannot be reached: then it is not for its commits that writes fail, and they say themselves why. */
async function beginCommit(
  url: string,
  { last, answerMs, closed }: { last: number | null; answerMs: number; closed: AbortSignal },
): Promise<Commit | null> {
  const limits = { connectMs: CONNECT_MS, answerMs: CONNECT_MS };
  const session = await openSession({ url, applicationName: APPLICATION_NAME, ...limits }).catch(() => null);
  if (session === null) return null;
  const end = (): void => {
    closed.removeEventListener("abort", end);
    sever(session);
  };
  closed.addEventListener("abort", end, { once: true });
  try {
    const { rows } = await session.query<{ pid: number }>(beginning(last));
    const [{ pid }] = rows as [{ pid: number }];
    const isOver = ask(session, COMMIT, answerMs)
      .then(
        () => true,
        (error: unknown) => error instanceof pg.DatabaseError,
      )
      .finally(end);
    return { pid, isOver };
  } catch {
    end();
    return null;
  }
}
