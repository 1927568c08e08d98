import type { Run } from "@keelson/contract";
import { isTerminalRunStatus, type RunStatus } from "@keelson/contract/plain";

/** What a row shows of a run. Payloads and outputs are not kept: a list may grow to any length. */
export type RunRow = Pick<
  Run,
  | "id"
  | "task"
  | "actor"
  | "status"
  | "attempt_number"
  | "max_attempts"
  | "tags"
  | "session_id"
  | "schedule_id"
  | "created_at"
  | "started_at"
  | "finished_at"
>;

export type RunPage = { runs: Run[]; next_cursor: string | null };

const toRow = (run: Run): RunRow => ({
  id: run.id,
  task: run.task,
  actor: run.actor,
  status: run.status,
  attempt_number: run.attempt_number,
  max_attempts: run.max_attempts,
  tags: run.tags,
  session_id: run.session_id,
  schedule_id: run.schedule_id,
  created_at: run.created_at,
  started_at: run.started_at,
  finished_at: run.finished_at,
});

/** Somebody who looks at old runs for long begins anew with the newest. */
const MAX_WAITING = 1000;

/** Everything else of a row is as it was created. */
const isSame = (a: RunRow, b: RunRow): boolean =>
  a.status === b.status &&
  a.attempt_number === b.attempt_number &&
  a.started_at === b.started_at &&
  a.finished_at === b.finished_at;

/**
 * The rows of a list of runs, newest first: ids are in the order of creation. Older pages are added at the end, the newest
 * page is read again and again, and what is new in it waits until it may move the rows that are looked at.
 */
export type RunList = {
  readonly length: number;
  at(index: number): RunRow | undefined;
  /** Runs that wait to be shown; null: more than can be told, since the newest page and the rows have a gap between. */
  readonly newCount: number | null;
  /** Where the next older page begins; null: all are there. Undefined: nothing was read yet. */
  readonly cursor: string | null | undefined;
  /** The page after `cursor`. One of before a reset is passed over. */
  addOlder(page: RunPage, cursor: string): void;
  /** The newest page as it is now. */
  readNewest(page: RunPage): void;
  /** Rows read on their own. */
  update(runs: readonly Run[]): void;
  /** Shows what waits. With `statuses`, rows that are of none of them any more go at the same moment. */
  showNew(statuses?: readonly RunStatus[]): void;
  /** Rows of the range that may still change and are not in the newest page. */
  liveIds(from: number, to: number): string[];
  readonly subscribe: (listener: () => void) => () => void;
  /** Another number after every change. */
  readonly version: () => number;
};

export function createRunList(): RunList {
  let ids: string[] = [];
  let rows = new Map<string, RunRow>();
  let waiting = new Map<string, RunRow>();
  let newest = new Set<string>();
  let cursor: string | null | undefined;
  /** The newest page when nothing of it was known: to begin anew with. */
  let gapPage: RunPage | null = null;
  let version = 0;
  const listeners = new Set<() => void>();
  const changed = (): void => {
    version += 1;
    for (const listener of listeners) listener();
  };
  const beginWith = (page: RunPage): void => {
    rows = new Map(page.runs.map((run) => [run.id, toRow(run)]));
    ids = [...rows.keys()];
    waiting = new Map();
    gapPage = null;
    cursor = page.next_cursor;
  };
  /** @returns whether the run was known. */
  const replace = (run: Run): boolean => {
    const row = toRow(run);
    const among = rows.has(run.id) ? rows : waiting.has(run.id) ? waiting : null;
    const known = among?.get(run.id);
    if (among === null || known === undefined) return false;
    if (!isSame(known, row)) among.set(run.id, row);
    return true;
  };

  return {
    get length() {
      return ids.length;
    },
    at: (index) => rows.get(ids[index] ?? ""),
    get newCount() {
      return gapPage === null ? waiting.size : null;
    },
    get cursor() {
      return cursor;
    },
    addOlder(page, after) {
      if (after !== cursor) return;
      const last = ids.at(-1) ?? "";
      for (const run of page.runs) {
        if (replace(run)) continue;
        // One that has only now come to be of this list, further up.
        if (last !== "" && run.id > last) waiting.set(run.id, toRow(run));
        else {
          rows.set(run.id, toRow(run));
          ids.push(run.id);
        }
      }
      cursor = page.next_cursor;
      changed();
    },
    readNewest(page) {
      newest = new Set(page.runs.map(({ id }) => id));
      if (ids.length === 0) beginWith(page);
      else {
        let isJoined = page.next_cursor === null;
        for (const run of page.runs) {
          if (replace(run)) isJoined ||= rows.has(run.id);
          else waiting.set(run.id, toRow(run));
        }
        if (isJoined && waiting.size <= MAX_WAITING) gapPage = null;
        else {
          gapPage = page;
          waiting = new Map();
        }
      }
      changed();
    },
    update(runs) {
      for (const run of runs) replace(run);
      changed();
    },
    showNew(statuses = []) {
      if (gapPage !== null) beginWith(gapPage);
      else if (waiting.size > 0) {
        const arrived = [...waiting.keys()].sort().reverse();
        for (const [id, row] of waiting) rows.set(id, row);
        waiting = new Map();
        const isFirst = (arrived.at(-1) ?? "") > (ids[0] ?? "");
        ids = isFirst ? [...arrived, ...ids] : [...ids, ...arrived].sort().reverse();
        if (statuses.length > 0) {
          ids = ids.filter((id) => statuses.includes((rows.get(id) as RunRow).status));
          rows = new Map(ids.map((id) => [id, rows.get(id) as RunRow]));
        }
      } else return;
      changed();
    },
    liveIds: (from, to) =>
      ids.slice(from, to).filter((id) => {
        const row = rows.get(id);
        return row !== undefined && !isTerminalRunStatus(row.status) && !newest.has(id);
      }),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    version: () => version,
  };
}
