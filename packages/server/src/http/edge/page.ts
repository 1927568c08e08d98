import { createHash } from "node:crypto";
import { LIMITS, parseUuid, type IdPrefix, type Uuid } from "@keelson/contract";
import { DomainError } from "../../domain-error.ts";

/** Pages by key: a cursor names the last row of a page, so rows added or removed meanwhile are not repeated or skipped. */
export const pageLimit = (limit: number | undefined, byDefault: number = LIMITS.pageDefault): number =>
  limit ?? byDefault;

/** A cursor is bound to its list and environment: it is not taken for another's. The key is the row's UUID, mostly. */
export const encodeCursor = (list: string, environmentId: string, key: string): string =>
  Buffer.from(JSON.stringify([list, environmentId, key])).toString("base64url");

const sortedTexts = (texts: string[]): string[] => [...new Set(texts)].sort((a, b) => (a < b ? -1 : 1));

/**
 * The name of a list under the filters of a query: a cursor of one narrowed list is not taken for another's. The order in
 * which a filter's values are given makes no difference.
 */
export function narrowed(list: string, query: Readonly<Record<string, unknown>>): string {
  const filters = Object.entries(query)
    .filter(([name, value]) => name !== "limit" && name !== "cursor" && value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? sortedTexts(value as string[]) : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (filters.length === 0) return list;
  const digest = createHash("sha256").update(JSON.stringify(filters)).digest("base64url");
  return `${list} ${digest.slice(0, 16)}`;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The key of rows that are told apart by their time: its milliseconds. */
export const TIME_KEY = /^[0-9]{1,15}$/;

/** @throws DomainError `invalid_cursor` when the text was not issued for this list. */
export function decodeCursor(
  list: string,
  environmentId: string,
  cursor: string | undefined,
  keyPattern: RegExp = UUID,
): string | null {
  if (cursor === undefined) return null;
  const parts = cursorParts(cursor);
  const [name, environment, key] = parts.length === 3 ? parts : [];
  if (name === list && environment === environmentId && typeof key === "string" && keyPattern.test(key))
    return key;
  throw notIssued();
}

function cursorParts(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return Array.isArray(parts) ? parts : [];
  } catch {
    // Not base64url of JSON, so not one of ours.
    return [];
  }
}

const notIssued = (): DomainError =>
  new DomainError(
    "invalid_cursor",
    "Take the cursor from next_cursor of the same list, or leave it out to begin again.",
  );

/** Cuts a read of `limit + 1` rows to the page and says where the next one begins. */
export function toPage<Row>(
  rows: Row[],
  limit: number,
  cursorOf: (row: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  if (rows.length <= limit) return { rows, nextCursor: null };
  const page = rows.slice(0, limit);
  return { rows: page, nextCursor: cursorOf(page[limit - 1] as Row) };
}

/** The most that a sequence column holds: nothing is after it. */
const MAX_SEQUENCE = 2_147_483_647;

/** A decimal sequence number, as `cursor=N` or `Last-Event-ID`. */
export function sequenceCursor(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 0;
  if (!/^[0-9]{1,15}$/.test(cursor)) {
    throw new DomainError(
      "invalid_cursor",
      "The cursor is a decimal sequence number, such as the id of the last event received; 0 begins at the start.",
    );
  }
  return Math.min(Number(cursor), MAX_SEQUENCE);
}

/** A cursor of a list whose key is not a UUID alone: text, within the object `key`. */
export const encodeTextCursor = (list: string, environmentId: string, key: string, text: string): string =>
  Buffer.from(JSON.stringify([list, environmentId, key, text])).toString("base64url");

/** @throws DomainError `invalid_cursor` when the text was not issued for this list. */
export function decodeTextCursor<Prefix extends IdPrefix>(
  list: string,
  environmentId: string,
  cursor: string | undefined,
): { key: Uuid<Prefix>; text: string } | null {
  if (cursor === undefined) return null;
  const parts = cursorParts(cursor);
  const [name, environment, named, text] = parts.length === 4 ? parts : [];
  const key = typeof named === "string" ? parseUuid<Prefix>(named) : null;
  if (name === list && environment === environmentId && key !== null && typeof text === "string")
    return { key, text };
  throw notIssued();
}

/** @param what that is no longer kept, with its verb. */
export const cursorExpired = (what: string, earliest: number): DomainError =>
  new DomainError("cursor_expired", `${what} no longer kept from there; go on at details.earliest_cursor.`, {
    earliest_cursor: String(earliest),
  });
