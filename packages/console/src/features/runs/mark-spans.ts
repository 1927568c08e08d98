import type { AnsiSpan } from "../../ui/ansi.ts";

export type MarkedSpan = AnsiSpan & { isMatch?: boolean };

/** The pieces with every occurrence of the text as pieces of their own. */
export function markSpans(spans: readonly AnsiSpan[], wanted: string): readonly MarkedSpan[] {
  if (wanted === "") return spans;
  const text = spans.map((span) => span.text).join("");
  const lower = text.toLowerCase();
  // A few letters have more characters in lower case: places would no longer fit.
  if (lower.length !== text.length) return spans;
  const marked: MarkedSpan[] = [];
  let last = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, last)) {
    marked.push(...sliceSpans(spans, last, at));
    marked.push(...sliceSpans(spans, at, at + wanted.length).map((span) => ({ ...span, isMatch: true })));
    last = at + wanted.length;
  }
  return last === 0 ? spans : [...marked, ...sliceSpans(spans, last, text.length)];
}

/** The pieces of the characters from `from` to before `to`. */
export function sliceSpans(spans: readonly MarkedSpan[], from: number, to: number): MarkedSpan[] {
  const sliced: MarkedSpan[] = [];
  let at = 0;
  for (const span of spans) {
    const end = at + span.text.length;
    if (end > from && at < to)
      sliced.push({ ...span, text: span.text.slice(Math.max(0, from - at), Math.min(end, to) - at) });
    at = end;
  }
  return sliced;
}
