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
const DEFAULT_MAX_CHARACTERS = 128 * 1024 * 1024;
const DEFAULT_MAX_LINES = 2_000_000;
/** Past what is kept, so much is left: the oldest go in large steps, since whoever counts lines counts them again. */
const LEFT_SHARE = 7 / 8;

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

type State = {
  /** Without those that were let go. */
  blocks: Block[];
  /** How many were let go. */
  firstBlock: number;
  end: number;
  characters: number;
  open: Record<LogStream, Open | null>;
  styles: Record<LogStream, StyleChange[]>;
};

function blockOf({ blocks, firstBlock }: State, line: number): Block {
  const block = blocks[Math.floor(line / BLOCK_LINES) - firstBlock];
  if (block === undefined) throw new RangeError(`Line ${line} is not stored.`);
  return block;
}

function openLine(state: State, stream: LogStream, atMs: number): Open {
  const line = state.end;
  const at = line % BLOCK_LINES;
  if (at === 0) state.blocks.push(newBlock());
  state.end += 1;
  const block = blockOf(state, line);
  block.flags[at] = stream === "stderr" ? STDERR : 0;
  block.times[at] = atMs;
  const opened = { line, text: "" };
  state.open[stream] = opened;
  return opened;
}

function finishLine(state: State, stream: LogStream, { line, text }: Open): void {
  state.open[stream] = null;
  if (line < state.firstBlock * BLOCK_LINES) return;
  const block = blockOf(state, line);
  const kept = afterReturns(text.endsWith("\r") ? text.slice(0, -1) : text);
  if (block.parts !== null) block.parts[line % BLOCK_LINES] = kept;
  block.finished += 1;
  if (block.finished === BLOCK_LINES && block.parts !== null) join(block, block.parts);
  state.characters += kept.length;
  if (!kept.includes("\u001b")) return;
  const changes = state.styles[stream];
  const before = changes.at(-1)?.style ?? PLAIN;
  let style = before;
  for (const [, codes] of kept.matchAll(SGR)) style = applySgr(style, codes ?? "");
  if (style !== before) changes.push({ line: line + 1, style });
}

function write(state: State, stream: LogStream, text: string, atMs: number): void {
  let from = 0;
  while (from < text.length) {
    const current = state.open[stream] ?? openLine(state, stream, atMs);
    const feed = text.indexOf("\n", from);
    const stop = feed === -1 ? text.length : feed;
    const room = MAX_LINE_CHARACTERS - current.text.length;
    const isFull = stop - from > room;
    const to = isFull ? from + splitAt(text, from, room) : stop;
    current.text += text.slice(from, to);
    if (current.text.includes("\r")) current.text = afterReturns(current.text);
    from = to;
    if (isFull && current.text.length >= MAX_LINE_CHARACTERS - 1) finishLine(state, stream, current);
    else if (from === feed) {
      from += 1;
      finishLine(state, stream, current);
    }
  }
}

/** Lets go of the oldest block. */
function dropBlock(state: State): void {
  const block = state.blocks.shift();
  for (const part of block?.parts ?? []) state.characters -= part?.length ?? 0;
  state.characters -= block?.text.length ?? 0;
  state.firstBlock += 1;
  for (const stream of ["stdout", "stderr"] as const) {
    const changes = state.styles[stream];
    const last = changes.findLastIndex(({ line }) => line <= state.firstBlock * BLOCK_LINES);
    if (last > 0) state.styles[stream] = changes.slice(last);
  }
}

const streamAt = (state: State, line: number): LogStream =>
  blockOf(state, line).flags[line % BLOCK_LINES] === STDERR ? "stderr" : "stdout";

function textAt(state: State, line: number): string {
  const block = blockOf(state, line);
  const at = line % BLOCK_LINES;
  if (block.parts === null) return block.text.slice(block.starts[at], block.starts[at + 1]);
  return block.parts[at] ?? afterReturns(state.open[streamAt(state, line)]?.text ?? "");
}

function styleAt(state: State, line: number): AnsiStyle {
  const changes = state.styles[streamAt(state, line)];
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.line ?? 0) <= line) low = middle + 1;
    else high = middle;
  }
  return changes[low - 1]?.style ?? PLAIN;
}

export function createLineStore(limits: { maxCharacters?: number; maxLines?: number } = {}): LineStore {
  const { maxCharacters = DEFAULT_MAX_CHARACTERS, maxLines = DEFAULT_MAX_LINES } = limits;
  const state: State = {
    blocks: [],
    firstBlock: 0,
    end: 0,
    characters: 0,
    open: { stdout: null, stderr: null },
    styles: { stdout: [], stderr: [] },
  };
  const first = (): number => state.firstBlock * BLOCK_LINES;
  const isOver = (share: number): boolean =>
    state.characters > share * maxCharacters || state.end - first() > share * maxLines;
  return {
    get end() {
      return state.end;
    },
    get first() {
      return first();
    },
    get characters() {
      return state.characters;
    },
    openLines: () =>
      [state.open.stdout, state.open.stderr]
        .flatMap((one) => (one === null ? [] : [one.line]))
        .toSorted((a, b) => a - b),
    push(stream, text, atMs) {
      write(state, stream, text, atMs);
      if (isOver(1)) while (state.blocks.length > 1 && isOver(LEFT_SHARE)) dropBlock(state);
    },
    textOf: (line) => textAt(state, line),
    streamOf: (line) => streamAt(state, line),
    atMsOf: (line) => blockOf(state, line).times[line % BLOCK_LINES] ?? 0,
    styleOf: (line) => styleAt(state, line),
  };
}

/** How many of the characters to take: not half of a pair. */
function splitAt(text: string, from: number, room: number): number {
  const last = text.charCodeAt(from + room - 1);
  return room > 1 && last >= 0xd800 && last <= 0xdbff ? room - 1 : room;
}
