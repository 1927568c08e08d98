import type { Part } from "./plan-parts.ts";
import { readRecords } from "./run-git.ts";

/** What `git ls-files -t -s -z` says of one file: `H 100644 <object> <stage>\t<path>`. */
const RECORD = /^(\S) (\d{6}) [0-9a-f]+ \d\t(.+)$/s;
const REGULAR = /^100/;
/** Left out of a sparse checkout. */
const NOT_CHECKED_OUT = "S";

/**
 * The path in one record, or null for what is no file to read: links, submodules, files that are not checked out, and
 * names that are not UTF-8, which cannot be opened by a name that is text.
 */
export function parseTrackedFile(record: string): string | null {
  const [, tag, mode, path] = RECORD.exec(record) ?? [];
  if (path === undefined || mode === undefined) return null;
  return REGULAR.test(mode) && tag !== NOT_CHECKED_OUT && !path.includes("\uFFFD") ? path : null;
}

/** Whether the part holds the file; `directory` is `.` for the top, without a slash at its end otherwise. */
export function isInPart(path: string, { directory, recursive }: Part): boolean {
  const prefix = directory === "." ? "" : `${directory}/`;
  return path.startsWith(prefix) && (recursive || !path.includes("/", prefix.length));
}

/** The files of a part of a checkout that git tracks and that are there, in git's order, relative to `root`. */
export async function listTrackedFiles(root: string, part: Part, signal: AbortSignal): Promise<string[]> {
  const within = ["-z", "--", part.directory];
  const deleted = new Set<string>();
  for await (const path of readRecords(root, ["ls-files", "--deleted", ...within], signal)) deleted.add(path);
  // A file in a merge conflict is listed once for each side.
  const paths = new Set<string>();
  for await (const record of readRecords(root, ["ls-files", "-t", "-s", ...within], signal)) {
    const path = parseTrackedFile(record);
    if (path !== null && !deleted.has(path) && isInPart(path, part)) paths.add(path);
  }
  return [...paths];
}
