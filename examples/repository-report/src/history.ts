import { readRecords } from "./run-git.ts";

export type History = {
  commits: number;
  first_commit_at: string | null;
  last_commit_at: string | null;
  /** The weeks that have commits, oldest first; `week` is the date of a Monday in UTC. */
  weeks: { week: string; commits: number }[];
  authors: number;
  /** The most active ones, most commits first. */
  top_authors: { name: string; commits: number }[];
};

export type Commit = { at: number; author: string };

const DAY_SECONDS = 86_400;
const TOP_AUTHORS = 20;

/** The date of the Monday of the week of a time in seconds. The epoch was a Thursday. */
export function weekOf(seconds: number): string {
  const day = Math.floor(seconds / DAY_SECONDS);
  const weekday = (((day + 3) % 7) + 7) % 7;
  return new Date((day - weekday) * DAY_SECONDS * 1000).toISOString().slice(0, 10);
}

/** One record of `git log --format=%ct %aN`; null for what is not one. */
export function parseCommit(record: string): Commit | null {
  const [, at, author] = /^(-?\d{1,12}) (.*)$/s.exec(record) ?? [];
  return at === undefined || author === undefined ? null : { at: Number(at), author: author || "(no name)" };
}

/** Adds up commits one after the other. */
export function createHistoryCounter(): { add(commit: Commit): void; result(): History } {
  const weeks = new Map<string, number>();
  const authors = new Map<string, number>();
  let [commits, first, last] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const timeText = (at: number): string | null => (commits === 0 ? null : new Date(at * 1000).toISOString());
  return {
    add({ at, author }) {
      commits += 1;
      first = Math.min(first, at);
      last = Math.max(last, at);
      const week = weekOf(at);
      weeks.set(week, (weeks.get(week) ?? 0) + 1);
      authors.set(author, (authors.get(author) ?? 0) + 1);
    },
    result: () => ({
      commits,
      first_commit_at: timeText(first),
      last_commit_at: timeText(last),
      weeks: [...weeks]
        .map(([week, count]) => ({ week, commits: count }))
        .sort((a, b) => (a.week < b.week ? -1 : 1)),
      authors: authors.size,
      top_authors: [...authors]
        .map(([name, count]) => ({ name, commits: count }))
        .sort((a, b) => b.commits - a.commits || (a.name < b.name ? -1 : 1))
        .slice(0, TOP_AUTHORS),
    }),
  };
}

/** The history of what is checked out, by the time commits were made here and by their authors' names (mailmap applied). */
export async function readHistory(root: string, head: string | null, signal: AbortSignal): Promise<History> {
  const counter = createHistoryCounter();
  if (head !== null) {
    const args = ["log", "-z", "--format=%ct %aN", "--no-show-signature", "--no-ext-diff", "--no-textconv"];
    for await (const record of readRecords(root, [...args, "--no-patch", head, "--"], signal)) {
      const commit = parseCommit(record);
      if (commit !== null) counter.add(commit);
    }
  }
  return counter.result();
}
