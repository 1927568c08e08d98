import { isOpenByDefault } from "./build-trace.ts";
import type { Span } from "./span.ts";

/** A span in the list, with its place in the tree. */
export type VisibleSpan = {
  span: Span;
  /** From 1. */
  level: number;
  /** Among those that are parts of the same, from 1. */
  place: number;
  siblings: number;
  /** Null: it has no parts that could be shown. */
  isOpen: boolean | null;
  parent: Span | null;
};

/** What was opened and closed by hand, by the keys of spans. */
export type Opened = ReadonlyMap<string, boolean>;

/** A child's spans are read once it is opened. */
const canOpen = ({ kind, parts }: Span): boolean => kind === "child" || parts.length > 0;

const contains = (span: Span, key: string | undefined): boolean =>
  key !== undefined &&
  (span.kind === "child"
    ? key.startsWith(`${span.key}/`)
    : span.parts.some((part) => part.key === key || contains(part, key)));

/** Whether its parts are shown; what is selected is in sight until somebody closes what it is in. */
const isOpen = (span: Span, opened: Opened, selected: string | undefined): boolean =>
  opened.get(span.key) ?? (isOpenByDefault(span.kind) || contains(span, selected));

/** The spans that are in sight, each followed by its parts where it is open. */
export function visibleSpans(
  spans: readonly Span[],
  opened: Opened,
  selected: string | undefined,
  level = 1,
  parent: Span | null = null,
): VisibleSpan[] {
  return spans.flatMap((span, index) => {
    const open = canOpen(span) ? isOpen(span, opened, selected) : null;
    const own = { span, level, place: index + 1, siblings: spans.length, isOpen: open, parent };
    return open === true ? [own, ...visibleSpans(span.parts, opened, selected, level + 1, span)] : [own];
  });
}

/** The child runs whose spans are to be read: those that are open, and those that the selected span is in. */
export function openChildren(opened: Opened, selected: string | undefined): string[] {
  const ids = new Set<string>();
  const read = (key: string): void => {
    const id = key.split("/").at(-1) ?? "";
    if (id.startsWith("run_")) ids.add(id);
  };
  for (const [key, isOpenNow] of opened) if (isOpenNow) read(key);
  const parts = selected?.split("/") ?? [];
  for (let count = 1; count < parts.length; count += 1) {
    const key = parts.slice(0, count).join("/");
    if (opened.get(key) !== false) read(key);
  }
  return [...ids];
}
