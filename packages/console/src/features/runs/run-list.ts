import type { Run } from "@keelson/contract";
import { isTerminalRunStatus, type RunStatus } from "@keelson/contract/plain";
import { createChanges, type Changes } from "./changes.ts";

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
> & {
  /** The first line of why it failed. */
  error: string | null;
};

const ERROR_CHARACTERS = 200;

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
  error: run.failure?.message.slice(0, ERROR_CHARACTERS).split("\n", 1)[0] ?? null,
});

/** Somebody who looks at old runs for long begins again with the newest. */
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
export type RunList = Changes & {
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
};

type State = {
  ids: string[];
  rows: Map<string, RunRow>;
  waiting: Map<string, RunRow>;
  /** Of the newest page. */
  newest: Set<string>;
  cursor: string | null | undefined;
  /** The newest page when nothing of it was known: to begin again with. */
  gapPage: RunPage | null;
};

function beginWith(state: State, page: RunPage): void {
  state.rows = new Map(page.runs.map((run) => [run.id, toRow(run)]));
  state.ids = [...state.rows.keys()];
  state.waiting = new Map();
  state.gapPage = null;
  state.cursor = page.next_cursor;
}

/** @returns whether the run was known. */
function replace({ rows, waiting }: State, run: Run): boolean {
  const row = toRow(run);
  const among = rows.has(run.id) ? rows : waiting;
  const known = among.get(run.id);
  if (known === undefined) return false;
  if (!isSame(known, row)) among.set(run.id, row);
  return true;
}

function addOlder(state: State, page: RunPage): void {
  const last = state.ids.at(-1) ?? "";
  for (const run of page.runs) {
    if (replace(state, run)) continue;
    // One that has only now come to be of this list, further up.
    if (last !== "" && run.id > last) state.waiting.set(run.id, toRow(run));
    else {
      state.rows.set(run.id, toRow(run));
      state.ids.push(run.id);
    }
  }
  state.cursor = page.next_cursor;
}

function readNewest(state: State, page: RunPage): void {
  state.newest = new Set(page.runs.map(({ id }) => id));
  // A page of a search may be empty, and older ones may be on their way.
  const isEmpty = page.runs.length === 0;
  if (state.ids.length === 0) {
    if (!isEmpty || state.cursor === undefined) beginWith(state, page);
    return;
  }
  let isJoined = isEmpty || page.next_cursor === null;
  for (const run of page.runs) {
    if (replace(state, run)) isJoined ||= state.rows.has(run.id);
    else state.waiting.set(run.id, toRow(run));
  }
  if (isJoined && state.waiting.size <= MAX_WAITING) state.gapPage = null;
  else {
    state.gapPage = page;
    state.waiting = new Map();
  }
}

const newestFirst = (ids: Iterable<string>): string[] => [...ids].toSorted().toReversed();

function showWaiting(state: State, statuses: readonly RunStatus[]): void {
  const arrived = newestFirst(state.waiting.keys());
  for (const [id, row] of state.waiting) state.rows.set(id, row);
  state.waiting = new Map();
  const isFirst = (arrived.at(-1) ?? "") > (state.ids[0] ?? "");
  const ids = isFirst ? [...arrived, ...state.ids] : newestFirst([...state.ids, ...arrived]);
  const stays = (id: string): boolean => {
    const row = state.rows.get(id);
    return row !== undefined && (statuses.length === 0 || statuses.includes(row.status));
  };
  state.ids = ids.filter(stays);
  for (const id of ids) if (!stays(id)) state.rows.delete(id);
}

export function createRunList(): RunList {
  const state: State = {
    ids: [],
    rows: new Map(),
    waiting: new Map(),
    newest: new Set(),
    cursor: undefined,
    gapPage: null,
  };
  const { changed, ...changes } = createChanges();
  return {
    get length() {
      return state.ids.length;
    },
    at: (index) => state.rows.get(state.ids[index] ?? ""),
    get newCount() {
      return state.gapPage === null ? state.waiting.size : null;
    },
    get cursor() {
      return state.cursor;
    },
    addOlder(page, cursor) {
      if (cursor !== state.cursor) return;
      addOlder(state, page);
      changed();
    },
    readNewest(page) {
      readNewest(state, page);
      changed();
    },
    update(runs) {
      for (const run of runs) replace(state, run);
      changed();
    },
    showNew(statuses = []) {
      if (state.gapPage !== null) beginWith(state, state.gapPage);
      else if (state.waiting.size > 0) showWaiting(state, statuses);
      else return;
      changed();
    },
    liveIds: (from, to) =>
      state.ids.slice(from, to).filter((id) => {
        const row = state.rows.get(id);
        return row !== undefined && !isTerminalRunStatus(row.status) && !state.newest.has(id);
      }),
    ...changes,
  };
}
