import type { LineStore, LogStream } from "./line-store.ts";
import { plainText } from "./plain-text.ts";

/** Lines that hold a text, whatever its case. */
export type LogSearch = {
  /** Of the lines that were looked at so far, in order. */
  readonly count: number;
  /** All lines were looked at. */
  readonly isDone: boolean;
  /** The number of the match at or after a line, or of the last one before; wraps around. Null without matches. */
  next(line: number, step: 1 | -1): number | null;
  lineOf(match: number): number;
  /** Looks at so many lines more, and at what was added or grew. */
  advance(lines: number): void;
};

export function createLogSearch(
  store: LineStore,
  { text, stream }: { text: string; stream: LogStream | null },
): LogSearch {
  const wanted = text.toLowerCase();
  let matches: number[] = [];
  let looked = store.first;
  let open: number[] = [];
  const fits = (line: number): boolean =>
    (stream === null || store.streamOf(line) === stream) &&
    plainText(store.textOf(line)).toLowerCase().includes(wanted);
  /** The first match at or after the line. */
  const indexOf = (line: number): number => {
    let low = 0;
    let high = matches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((matches[middle] ?? 0) >= line) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const lookAgain = (line: number): void => {
    const index = indexOf(line);
    const isThere = matches[index] === line;
    if (fits(line) === isThere) return;
    if (isThere) matches.splice(index, 1);
    else matches.splice(index, 0, line);
  };
  return {
    get count() {
      return matches.length;
    },
    get isDone() {
      return looked >= store.end;
    },
    next(line, step) {
      if (matches.length === 0) return null;
      const index = step === 1 ? indexOf(line) : indexOf(line + 1) - 1;
      return (index + matches.length) % matches.length;
    },
    lineOf: (match) => matches[match] ?? store.first,
    advance(lines) {
      const { first, end } = store;
      if ((matches[0] ?? first) < first) matches = matches.slice(indexOf(first));
      looked = Math.max(looked, first);
      for (const line of open) if (line >= first) lookAgain(line);
      const until = Math.min(end, looked + lines);
      for (; looked < until; looked += 1) if (fits(looked)) matches.push(looked);
      open = store.openLines().filter((line) => line < looked);
    },
  };
}

const ERROR = /\b(error|exception|fatal|panic|traceback|failed)\b/i;

/** The next line after `from` that speaks of an error, around the end; without any, the next one of stderr. Null: none. */
export function findError(store: LineStore, from: number): number | null {
  const { first, end } = store;
  const total = end - first;
  let ofStderr: number | null = null;
  for (let step = 1; step <= total; step += 1) {
    const line = first + ((((from - first + step) % total) + total) % total);
    if (ERROR.test(store.textOf(line))) return line;
    if (ofStderr === null && store.streamOf(line) === "stderr") ofStderr = line;
  }
  return ofStderr;
}
