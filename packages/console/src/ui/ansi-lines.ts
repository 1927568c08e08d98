import { createAnsiParser, type AnsiSpan } from "./ansi.ts";

export type AnsiLine = readonly AnsiSpan[];

/** Longer lines go on in the next: one of a megabyte would stop the browser. */
const MAX_LINE_CHARACTERS = 4000;

/**
 * Output as lines, of which the last `maxLines` are kept. A carriage return alone begins its line over again once
 * something follows, as bars of progress do.
 */
export function createAnsiLines(maxLines: number): {
  push: (text: string) => void;
  end: () => void;
  /** A new array when something changed; `dropped` lines stood before it. */
  read: () => { lines: readonly AnsiLine[]; dropped: number };
} {
  const parser = createAnsiParser();
  let lines: AnsiSpan[][] = [[]];
  let length = 0;
  let dropped = 0;
  let isReturned = false;
  let shown: { lines: readonly AnsiLine[]; dropped: number } | null = null;

  const breakLine = (): void => {
    lines.push([]);
    length = 0;
    isReturned = false;
  };
  const addText = ({ text, style }: AnsiSpan): void => {
    if (isReturned) {
      lines[lines.length - 1] = [];
      length = 0;
      isReturned = false;
    }
    for (let rest = text; rest !== "";) {
      const part = rest.slice(0, MAX_LINE_CHARACTERS - length);
      lines.at(-1)?.push({ text: part, style });
      length += part.length;
      rest = rest.slice(part.length);
      if (length >= MAX_LINE_CHARACTERS) breakLine();
    }
  };
  const take = (spans: readonly AnsiSpan[]): void => {
    for (const { text, style } of spans)
      for (const part of text.split(/([\r\n])/))
        if (part === "\n") breakLine();
        else if (part === "\r") isReturned = true;
        else if (part !== "") addText({ text: part, style });
    if (lines.length > 2 * maxLines) drop();
    shown = null;
  };
  const drop = (): void => {
    dropped += lines.length - maxLines;
    lines = lines.slice(-maxLines);
  };
  return {
    push: (text) => take(parser.push(text)),
    end: () => take(parser.end()),
    read: () => {
      if (lines.length > maxLines) drop();
      // The last line goes on changing: what was given out does not.
      shown ??= { lines: [...lines.slice(0, -1), [...(lines.at(-1) ?? [])]], dropped };
      return shown;
    },
  };
}
