import type { LineStore, LogStream } from "./line-store.ts";
import { plainText } from "./plain-text.ts";

/**
 * Which line stands in which row: lines of one stream or of both, each in one row, or in as many as its text needs at a
 * width in characters. Every row is equally high, so that any of millions is found without laying out the others.
 */
export type LogLayout = {
  readonly rowCount: number;
  /** Rows that once were there, before the first of now: their lines were let go. */
  readonly droppedRows: number;
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

/** The first of the indexes to `count` for which `isAfter` holds. */
function search(count: number, isAfter: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many rows each of a list of lines needs, and all before it. */
type RowSums = {
  /** Forgets so many of the first lines. */
  drop(lines: number): void;
  add(size: number): void;
  resize(index: number, size: number): void;
  /** The first row of a line. */
  start(index: number): number;
  total(): number;
  /** Which line a row is of. */
  indexOf(row: number): number;
};

function createRowSums(): RowSums {
  let count = 0;
  let sizes = new Uint32Array(CAPACITY);
  let ends = new Float64Array(CAPACITY);
  const start = (index: number): number => (index === 0 ? 0 : (ends[index - 1] ?? 0));
  const total = (): number => start(count);
  return {
    drop(lines) {
      const before = start(lines);
      sizes.copyWithin(0, lines, count);
      ends.copyWithin(0, lines, count);
      count -= lines;
      for (let at = 0; at < count; at += 1) ends[at] = (ends[at] ?? 0) - before;
    },
    add(size) {
      sizes = grow(sizes, count + 1);
      ends = grow(ends, count + 1);
      sizes[count] = size;
      ends[count] = total() + size;
      count += 1;
    },
    resize(index, size) {
      if (size === sizes[index]) return;
      sizes[index] = size;
      for (let at = index, end = start(index); at < count; at += 1) {
        end += sizes[at] ?? 0;
        ends[at] = end;
      }
    },
    start,
    total,
    indexOf: (row) => search(count, (one) => (ends[one] ?? 0) > row),
  };
}

/** A line of no text is a row too. */
const rowsIn = (text: string, columns: number | null): number =>
  Math.max(1, Math.ceil(plainText(text).length / (columns ?? 1)));

export function createLogLayout(
  store: LineStore,
  { stream, columns }: { stream: LogStream | null; columns: number | null },
): LogLayout {
  /** Numbers of the shown lines; unused where every line is shown. */
  let shown = new Uint32Array(stream === null ? 0 : CAPACITY);
  /** Null: each line is one row. */
  const sums = columns === null ? null : createRowSums();
  let count = 0;
  let { first } = store;
  /** Lines before it were taken. */
  let taken = first;
  /** Taken lines that may have grown since. */
  let open: number[] = [];
  let droppedRows = 0;

  const rowsOf = (line: number): number => rowsIn(store.textOf(line), columns);
  const lineAt = (index: number): number => (stream === null ? first + index : (shown[index] ?? 0));
  const indexOf = (line: number): number => search(count, (one) => lineAt(one) >= line);
  const add = (line: number): void => {
    if (stream !== null) {
      if (store.streamOf(line) !== stream) return;
      shown = grow(shown, count + 1);
      shown[count] = line;
    }
    sums?.add(rowsOf(line));
    count += 1;
  };
  const resize = (line: number): void => {
    const index = indexOf(line);
    if (index < count && lineAt(index) === line) sums?.resize(index, rowsOf(line));
  };

  /** Forgets the lines that were let go. */
  const drop = (): void => {
    const gone = indexOf(store.first);
    droppedRows += sums?.start(gone) ?? gone;
    sums?.drop(gone);
    shown.copyWithin(0, gone, count);
    count -= gone;
    first = store.first;
    taken = Math.max(taken, first);
    open = open.filter((line) => line >= first);
  };

  const layout: LogLayout = {
    get rowCount() {
      return sums?.total() ?? count;
    },
    get droppedRows() {
      return droppedRows;
    },
    at(row) {
      const index = sums?.indexOf(row) ?? row;
      return { line: lineAt(index), part: sums === null ? 0 : row - sums.start(index) };
    },
    rowOf: (line) => sums?.start(indexOf(line)) ?? indexOf(line),
    update() {
      if (store.first > first) drop();
      if (sums !== null) for (const line of open) resize(line);
      for (let line = taken; line < store.end; line += 1) add(line);
      taken = store.end;
      open = store.openLines();
    },
  };
  layout.update();
  return layout;
}
