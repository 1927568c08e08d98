import { TreeError, type LeftOut } from "@keelson/workspace-tree";
import { ServiceError } from "../protocol/service-error.ts";

const LONGEST_MESSAGE = 2_000;
const SHOWN = 3;

const REASONS = {
  path_too_long: "its path has more than 4,096 bytes",
  too_many_entries: "a version has 250,000 entries at most",
  unreadable: "the agent may not read it",
  name: "its name is too long once its bytes are escaped",
} as const satisfies Record<LeftOut["reason"], string>;

/** For callers: what the last version lacks. */
export function describeLeftOut({ count, first }: { count: number; first: readonly LeftOut[] }): string {
  const shown = first.slice(0, SHOWN).map(({ path, reason }) => {
    const name = path.length > 200 ? `${path.slice(0, 200)}…` : path;
    return `${JSON.stringify(name)} (${REASONS[reason]})`;
  });
  const more = count > shown.length ? `, and ${count - shown.length} more` : "";
  return `${count === 1 ? "One entry" : `${count} entries`} could not be put into a version, which has everything else: ${shown.join(", ")}${more}.`;
}

/** For callers: what they can do something about in its own words. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const isFull =
    error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT"].includes(String(error.code));
  const text = isFull
    ? `The worker's disk is full (${message}). Free space there, then try again.`
    : error instanceof TreeError
      ? message
      : error instanceof ServiceError
        ? `The server refused: ${message}`
        : message;
  return (text || "The workspace failed for an unknown reason.").slice(0, LONGEST_MESSAGE);
}
