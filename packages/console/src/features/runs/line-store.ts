import { applySgr, PLAIN, type AnsiStyle } from "../../ui/ansi.ts";

export type LogStream = "stdout" | "stderr";

/**
 * Lines of a log, kept so that a million of them cost little more than their text: finished lines are joined into blocks of
 * text, and of each line there are a few numbers. Escape sequences stay in the text until a line is looked at.
 *
 * A line stands where its first character came; what the other stream says meanwhile follows. A carriage return begins
 * its line over again once something follows, as bars of progress do.
 */
export type LineStore = {
  /** Lines so far, those that were let go included: the first line has the number `first`. */
  readonly end: number;
  /** The oldest line that is still there. */
  readonly first: number;
  /** Lines that may still grow: at most one of each stream. */
  openLines(): number[];
  push(stream: LogStream, text: string, atMs: number): void;
  /** As it came, with its escape sequences. */
  textOf(line: number): string;
  streamOf(line: number): LogStream;
  atMsOf(line: number): number;
  /** The colours that the line begins with: a stream's colours last until it changes them. */
  styleOf(line: number): AnsiStyle;
  /** Bytes of text, about: for how much is kept. */
  readonly characters: number;
};

/** Longer lines go on in the next: one of a megabyte would stop the browser. */
export const MAX_LINE_CHARACTERS = 4096;
/** A block is let go as a whole, and read as a whole by whoever reads one of its lines. */
const BLOCK_LINES = 1024;
const DEFAULT_MAX_CHARACTERS = 256 * 1024 * 1024;
const DEFAULT_MAX_LINES = 5_000_000;

const STDERR = 1;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const SGR = /\u001b\[([\d;:]*)m/g;

type Block = {
  /** Texts of lines by their place in the block, until all are finished. */
  parts: string[] | null;
  /** All texts, joined: slices of what came keep that alive, and a million strings cost more than their text. */
  text: string;
  starts: Uint32Array;
  finished: number;
  flags: Uint8Array;
  times: Float64Array;
};

type Open = { line: number; text: string };
/** From this line on, lines of the stream begin with the style. */
type StyleChange = { line: number; style: AnsiStyle };

const newBlock = (): Block => ({
  parts: [],
  text: "",
  starts: new Uint32Array(0),
  finished: 0,
  flags: new Uint8Array(BLOCK_LINES),
  times: new Float64Array(BLOCK_LINES),
});

function join(block: Block, parts: readonly string[]): void {
  const starts = new Uint32Array(BLOCK_LINES + 1);
  let at = 0;
  for (const [index, part] of parts.entries()) {
    starts[index] = at;
    at += part.length;
  }
  starts[BLOCK_LINES] = at;
  block.starts = starts;
  block.text = parts.join("");
  block.parts = null;
}

/** Without what a later carriage return wrote over; the colours set there stay set. */
function afterReturns(text: string): string {
  const isOpen = text.endsWith("\r");
  const from = text.lastIndexOf("\r", isOpen ? text.length - 2 : text.length - 1);
  if (from === -1) return text;
  const colours = text.slice(0, from).match(SGR)?.slice(-8).join("") ?? "";
  return colours + text.slice(from + 1);
}

export function createLineStore(limits: { maxCharacters?: number; maxLines?: number } = {}): LineStore {
  const { maxCharacters = DEFAULT_MAX_CHARACTERS, maxLines = DEFAULT_MAX_LINES } = limits;
  const blocks: (Block | null)[] = [];
  let firstBlock = 0;
  let end = 0;
  let characters = 0;
  const open: Record<LogStream, Open | null> = { stdout: null, stderr: null };
  const styles: Record<LogStream, StyleChange[]> = { stdout: [], stderr: [] };

  const blockOf = (line: number): Block => {
    const block = blocks[Math.floor(line / BLOCK_LINES)];
    if (block === undefined || block === null) throw new RangeError(`Line ${line} is not kept.`);
    return block;
  };
  const openLine = (stream: LogStream, atMs: number): Open => {
    const line = end;
    const at = line % BLOCK_LINES;
    if (at === 0) blocks.push(newBlock());
    end += 1;
    const block = blockOf(line);
    block.flags[at] = stream === "stderr" ? STDERR : 0;
    block.times[at] = atMs;
    const opened = { line, text: "" };
    open[stream] = opened;
    return opened;
  };
  const finish = (stream: LogStream, { line, text }: Open): void => {
    open[stream] = null;
    if (line < firstBlock * BLOCK_LINES) return;
    const block = blockOf(line);
    const at = line % BLOCK_LINES;
    const kept = afterReturns(text.endsWith("\r") ? text.slice(0, -1) : text);
    if (block.parts !== null) block.parts[at] = kept;
    block.finished += 1;
    if (block.finished === BLOCK_LINES && block.parts !== null) join(block, block.parts);
    characters += kept.length;
    if (!kept.includes("\u001b")) return;
    const changes = styles[stream];
    const before = changes.at(-1)?.style ?? PLAIN;
    let style = before;
    for (const [, codes] of kept.matchAll(SGR)) style = applySgr(style, codes ?? "");
    if (style !== before) changes.push({ line: line + 1, style });
  };
  const drop = (): void => {
    while (firstBlock < blocks.length - 1) {
      const isTooMuch = characters > maxCharacters || end - firstBlock * BLOCK_LINES > maxLines + BLOCK_LINES;
      if (!isTooMuch) return;
      const block = blocks[firstBlock];
      for (const part of block?.parts ?? []) characters -= part?.length ?? 0;
      characters -= block?.text.length ?? 0;
      blocks[firstBlock] = null;
      firstBlock += 1;
      for (const stream of ["stdout", "stderr"] as const) {
        const changes = styles[stream];
        const last = changes.findLastIndex(({ line }) => line <= firstBlock * BLOCK_LINES);
        if (last > 0) styles[stream] = changes.slice(last);
      }
    }
  };

  return {
    get end() {
      return end;
    },
    get first() {
      return firstBlock * BLOCK_LINES;
    },
    openLines: () =>
      [open.stdout, open.stderr].flatMap((one) => (one === null ? [] : [one.line])).sort((a, b) => a - b),
    get characters() {
      return characters;
    },
    push(stream, text, atMs) {
      let from = 0;
      while (from < text.length) {
        const current = open[stream] ?? openLine(stream, atMs);
        const feed = text.indexOf("\n", from);
        const stop = feed === -1 ? text.length : feed;
        const room = MAX_LINE_CHARACTERS - current.text.length;
        const isFull = stop - from > room;
        const to = isFull ? from + splitAt(text, from, room) : stop;
        current.text += text.slice(from, to);
        if (current.text.includes("\r")) current.text = afterReturns(current.text);
        from = to;
        if (isFull && current.text.length >= MAX_LINE_CHARACTERS - 1) finish(stream, current);
        else if (from === feed) {
          from += 1;
          finish(stream, current);
        }
      }
      drop();
    },
    textOf(line) {
      const block = blockOf(line);
      const at = line % BLOCK_LINES;
      if (block.parts === null) return block.text.slice(block.starts[at], block.starts[at + 1]);
      const stream = block.flags[at] === STDERR ? "stderr" : "stdout";
      return block.parts[at] ?? afterReturns(open[stream]?.text ?? "");
    },
    streamOf: (line) => (blockOf(line).flags[line % BLOCK_LINES] === STDERR ? "stderr" : "stdout"),
    atMsOf: (line) => blockOf(line).times[line % BLOCK_LINES] ?? 0,
    styleOf(line) {
      const changes = styles[blockOf(line).flags[line % BLOCK_LINES] === STDERR ? "stderr" : "stdout"];
      let low = 0;
      let high = changes.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((changes[middle]?.line ?? 0) <= line) low = middle + 1;
        else high = middle;
      }
      return changes[low - 1]?.style ?? PLAIN;
    },
  };
}

/** How many of the characters to take: not half of a pair. */
function splitAt(text: string, from: number, room: number): number {
  const last = text.charCodeAt(from + room - 1);
  return room > 1 && last >= 0xd800 && last <= 0xdbff ? room - 1 : room;
}
