import { DomainError } from "../../../domain-error.ts";

/**
 * The part of a file that `Range` asks for, null for all of it. One range of bytes is served; several, other units and
 * text that is no range are ignored, as RFC 9110, section 14.2, allows.
 *
 * @throws DomainError `range_not_satisfiable` when it begins after the end.
 */
export function parseRange(text: string | null, sizeBytes: number): { start: number; end: number } | null {
  const match = text === null ? null : /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text.replaceAll(" ", ""));
  const [, first = "", last = ""] = match ?? [];
  if (match === null || (first === "" && last === "")) return null;
  const start = first === "" ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === "" || last === "" ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return null;
  if (start < sizeBytes && end > start) return { start, end };
  throw new DomainError(
    "range_not_satisfiable",
    `The file has ${sizeBytes} bytes; ask for a range that begins before its end.`,
    { size_bytes: sizeBytes },
  );
}

/** Whether a list of entity tags names one: `"a", W/"b"`, or `*` for any that is there. */
export function namesTag(list: string, tag: string | null): boolean {
  if (list.trim() === "*") return tag !== null;
  return list.split(",").some((item) => item.trim() === tag);
}

/** Whether it has the form of `If-Match`: `*`, or tags in quotation marks (RFC 9110, section 13.1.1). */
export const isTagList = (list: string): boolean =>
  list.trim() === "*" || list.split(",").every((item) => /^(?:W\/)?"[^"]*"$/.test(item.trim()));
