import type { LineStore, LogStream } from "./line-store.ts";
import { plainText } from "./plain-text.ts";

/**
 * Which line stands in which row: lines of one stream or of both, each in one row, or in as many as its text needs at a
 * width in characters. Every row is equally high, so that any of millions is found without laying out the others.
 */
export type LogLayout = {
  readonly rowCount: number;
  /** The line of a row, and which of its parts. */
  at(row: number): { line: number; part: number };
  /** The row of a line, or of the next line that is shown. */
  rowOf(line: number): number;
  /** Takes what came, grew or was let go. */
  update(): void;
};

const CAPACITY = 4096;

function grow<T extends Uint32Array | Float64Array>(array: T, size: number): T {
  if (size <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}

export function createLogLayout(
  store: LineStore,
  { stream, columns }: { stream: LogStream | null; columns: number | null },
): LogLayout {
  /** Numbers of the shown lines; unused where every line is shown. */
  let shown = new Uint32Array(stream === null ? 0 : CAPACITY);
  /** Rows of each shown line, and the row after it; unused where each has one. */
  let sizes = new Uint32Array(columns === null ? 0 : CAPACITY);
  let ends = new Float64Array(columns === null ? 0 : CAPACITY);
  /** Lines whose size may have changed since it was taken. */
  let open: number[] = [];
  let count = 0;
  let first = store.first;
  /** Lines before it were taken. */
  let taken = store.first;

  const rowsOf = (line: number): number =>
    columns === null ? 1 : Math.max(1, Math.ceil(plainText(store.textOf(line)).length / columns));
  const lineAt = (index: number): number => (stream === null ? first + index : (shown[index] ?? 0));
  const add = (line: number): void => {
    if (stream !== null) {
      if (store.streamOf(line) !== stream) return;
      shown = grow(shown, count + 1);
      shown[count] = line;
    }
    if (columns !== null) {
      sizes = grow(sizes, count + 1);
      ends = grow(ends, count + 1);
      sizes[count] = rowsOf(line);
      ends[count] = (count === 0 ? 0 : (ends[count - 1] ?? 0)) + (sizes[count] ?? 0);
    }
    count += 1;
  };
  /** The first index for which `isAfter` holds. */
  const search = (isAfter: (index: number) => boolean): number => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isAfter(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  const resize = (line: number): void => {
    if (columns === null || line < first) return;
    const index = search((one) => lineAt(one) >= line);
    if (index === count || lineAt(index) !== line) return;
    const size = rowsOf(line);
    if (size === sizes[index]) return;
    sizes[index] = size;
    for (let at = index, end = index === 0 ? 0 : (ends[index - 1] ?? 0); at < count; at += 1) {
      end += sizes[at] ?? 0;
      ends[at] = end;
    }
  };

  const layout: LogLayout = {
    get rowCount() {
      return columns === null ? count : count === 0 ? 0 : (ends[count - 1] ?? 0);
    },
    at(row) {
      if (columns === null) return { line: lineAt(row), part: 0 };
      const index = search((one) => (ends[one] ?? 0) > row);
      return { line: lineAt(index), part: row - (index === 0 ? 0 : (ends[index - 1] ?? 0)) };
    },
    rowOf(line) {
      const index = search((one) => lineAt(one) >= line);
      return columns === null || index === 0 ? index : (ends[index - 1] ?? 0);
    },
    update() {
      if (store.first > first) {
        // The oldest were let go: what is left is counted anew, which is rare.
        first = store.first;
        taken = first;
        count = 0;
        open = [];
      }
      for (const line of open) resize(line);
      for (let line = taken; line < store.end; line += 1) add(line);
      taken = store.end;
      open = store.openLines();
    },
  };
  layout.update();
  return layout;
}
