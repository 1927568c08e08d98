// Knows whether PostgreSQL confirms commits. It does not while the standby is gone that it has to wait for: then each commit hangs
// for as long as that lasts, without an error, and no limit of PostgreSQL's ends it. Reads are as quick as ever.

import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
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
  /** @throws CommitsHangError while no commit is confirmed. */
  check(): void;
  /** A commit was not confirmed in the time that it has. */
  hangs(): void;
  close(): void;
}

export interface CommitWatchOptions {
  /** URL that bypasses a pooler. */
  readonly url: string;
  readonly onChange: (isHanging: boolean) => void;
}

const APPLICATION_NAME = "keelson-commits";
const CONNECT_MS = 3_000;
/** A connection that was lost meanwhile says nothing of commits. */
const AGAIN_MS = 1_000;

/** From the first commit that hangs, one of its own is waited for, however long it takes: one connection, and not one for each caller. */
export function createCommitWatch({ url, onChange }: CommitWatchOptions): CommitWatch {
  const closed = new AbortController();
  let isHanging = false;
  const watch = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      if (await isOver(url, closed.signal)) break;
      await sleep(AGAIN_MS, null, { signal: closed.signal }).catch(() => null);
    }
    isHanging = false;
    onChange(false);
  };
  return {
    isHanging: () => isHanging,
    check: () => {
      if (isHanging) throw new CommitsHangError();
    },
    hangs: () => {
      if (isHanging || closed.signal.aborted) return;
      isHanging = true;
      onChange(true);
      void watch();
    },
    close: () => closed.abort(),
  };
}

/**
 * Waits until a commit is confirmed. True also when PostgreSQL cannot be reached, or takes no writes: then it is not for its commits that
 * writes fail, and they say themselves why.
 */
async function isOver(url: string, closed: AbortSignal): Promise<boolean> {
  const opened = await openSession({
    url,
    applicationName: APPLICATION_NAME,
    connectMs: CONNECT_MS,
  }).catch(() => null);
  if (opened === null) return true;
  const end = (): void => sever(opened);
  closed.addEventListener("abort", end, { once: true });
  try {
    // A message that nobody reads: the least that a commit has to be confirmed for.
    await opened.query("SELECT pg_logical_emit_message(true, 'keelson', '')");
    return true;
  } catch (error) {
    return isOfStatement(error);
  } finally {
    closed.removeEventListener("abort", end);
    end();
  }
}

const isOfStatement = (error: unknown): boolean => typeof (error as pg.DatabaseError).severity === "string";
