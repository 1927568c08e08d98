import { visibleLine } from "./visible-text.ts";

/** Output of programs as runs of text with colours. Nothing else of a terminal is obeyed: it is dropped or made visible. */

/** One of the 16 of a terminal, which a theme says, or a colour as it is. */
export type AnsiColor = { index: number } | { rgb: readonly [number, number, number] };
export type AnsiStyle = {
  color: AnsiColor | null;
  background: AnsiColor | null;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
  isStruck: boolean;
  isInverse: boolean;
};
export type AnsiSpan = { text: string; style: AnsiStyle };

export const PLAIN: AnsiStyle = {
  color: null,
  background: null,
  isBold: false,
  isDim: false,
  isItalic: false,
  isUnderlined: false,
  isStruck: false,
  isInverse: false,
};

const ESCAPE = "\u001b";
const BELL = "\u0007";
/** A sequence that is longer is none: its text is shown. */
const MAX_SEQUENCE = 4096;

type Sequence = { end: number; sgr: string | null } | "partial" | "none";

const isBetween = (character: string | undefined, from: string, to: string): boolean =>
  character !== undefined && character >= from && character <= to;

/** `ESC [ parameters intermediates final`; only `m`, without intermediates, says anything here. */
function readControl(text: string, start: number): Sequence {
  let at = start + 2;
  while (isBetween(text[at], "0", "?")) at += 1;
  const parameters = text.slice(start + 2, at);
  const intermediates = at;
  while (isBetween(text[at], " ", "/")) at += 1;
  if (at >= text.length) return "partial";
  if (!isBetween(text[at], "@", "~")) return "none";
  const isColours = text[at] === "m" && at === intermediates && !/[<-?]/.test(parameters);
  return { end: at + 1, sgr: isColours ? parameters : null };
}

/** `ESC ] …` and its like, ended by BEL or `ESC \`. One that goes over the end of its line hides nothing of the next. */
function readString(text: string, start: number): Sequence {
  for (let at = start + 2; at < text.length; at += 1) {
    const character = text[at];
    if (character === BELL) return { end: at + 1, sgr: null };
    if (character === "\n") return "none";
    if (character !== ESCAPE) continue;
    if (at + 1 >= text.length) return "partial";
    return text[at + 1] === "\\" ? { end: at + 2, sgr: null } : "none";
  }
  return "partial";
}

/** The escape sequence that begins at `start`. */
function readSequence(text: string, start: number): Sequence {
  const kind = text[start + 1];
  if (kind === undefined) return "partial";
  if (kind === "[") return readControl(text, start);
  if ("]PX^_".includes(kind)) return readString(text, start);
  let at = start + 1;
  while (isBetween(text[at], " ", "/")) at += 1;
  if (at >= text.length) return "partial";
  return isBetween(text[at], "0", "~") ? { end: at + 1, sgr: null } : "none";
}

const LEVELS = [0, 95, 135, 175, 215, 255] as const;

/** Of the 256: the 16, a cube of 6 × 6 × 6, and greys. */
function indexedColor(index: number): AnsiColor | null {
  if (index < 0 || index > 255) return null;
  if (index < 16) return { index };
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return { rgb: [grey, grey, grey] };
  }
  const cube = index - 16;
  const level = (step: number): number => LEVELS[Math.floor(cube / step) % 6] ?? 0;
  return { rgb: [level(36), level(6), level(1)] };
}

function rgbColor(parts: readonly number[]): AnsiColor | null {
  const [r, g, b] = parts;
  if (r === undefined || g === undefined || b === undefined) return null;
  return [r, g, b].every((part) => part >= 0 && part <= 255) ? { rgb: [r, g, b] } : null;
}

const numberOf = (text: string | undefined): number =>
  text === undefined || text === "" ? 0 : Number(text.slice(0, 5));

/** `38;5;n`, `38;2;r;g;b`, `38:5:n`, `38:2:r:g:b` or `38:2::r:g:b`, and how many further parameters it took. */
function extendedColor(
  parameters: readonly string[],
  at: number,
): { color: AnsiColor | null; taken: number } {
  const parts = (parameters[at] ?? "").split(":");
  if (parts.length > 1) {
    const values = parts.map(numberOf);
    if (values[1] === 5) return { color: indexedColor(values[2] ?? -1), taken: 0 };
    return { color: values[1] === 2 ? rgbColor(values.slice(parts.length > 5 ? 3 : 2)) : null, taken: 0 };
  }
  const kind = numberOf(parameters[at + 1]);
  const rest = parameters.slice(at + 2, at + 5).map(numberOf);
  if (kind === 5) return { color: indexedColor(rest[0] ?? -1), taken: 2 };
  return kind === 2 ? { color: rgbColor(rest), taken: 4 } : { color: null, taken: 1 };
}

/** Hidden text (8) stays seen, and nothing blinks. */
const SIMPLE: Record<number, Partial<AnsiStyle>> = {
  0: PLAIN,
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  7: { isInverse: true },
  9: { isStruck: true },
  21: { isUnderlined: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  27: { isInverse: false },
  29: { isStruck: false },
  39: { color: null },
  49: { background: null },
};

function paletteStyle(code: number): Partial<AnsiStyle> {
  if (code >= 30 && code <= 37) return { color: { index: code - 30 } };
  if (code >= 40 && code <= 47) return { background: { index: code - 40 } };
  if (code >= 90 && code <= 97) return { color: { index: code - 82 } };
  if (code >= 100 && code <= 107) return { background: { index: code - 92 } };
  return {};
}

/** The style after `ESC [ text m`. What is unknown changes nothing. */
export function applySgr(style: AnsiStyle, text: string): AnsiStyle {
  const parameters = text.split(";");
  let next = style;
  for (let at = 0; at < parameters.length; at += 1) {
    const parameter = parameters[at] ?? "";
    const code = numberOf(parameter.split(":", 1)[0]);
    if (code === 38 || code === 48 || code === 58) {
      const { color, taken } = extendedColor(parameters, at);
      at += taken;
      if (color !== null && code !== 58)
        next = code === 38 ? { ...next, color } : { ...next, background: color };
    } else if (parameter.startsWith("4:")) {
      next = { ...next, isUnderlined: parameter !== "4:0" };
    } else {
      next = { ...next, ...(SIMPLE[code] ?? paletteStyle(code)) };
    }
  }
  return next;
}

/**
 * Reads output piece by piece; a sequence may be cut between two. The spans' text has line feeds, carriage returns and
 * tabs; every other control is dropped with its sequence or visible. It begins in the style `first`. `end` gives what was begun and never finished.
 */
export function createAnsiParser(first: AnsiStyle = PLAIN): {
  push: (text: string) => AnsiSpan[];
  end: () => AnsiSpan[];
} {
  let style = first;
  let pending = "";
  const shown = (text: string): AnsiSpan[] =>
    text === ""
      ? []
      : [
          {
            text: text
              .split(/([\r\n])/)
              .map(visiblePart)
              .join(""),
            style,
          },
        ];
  return {
    push: (piece) => {
      const text = pending + piece;
      pending = "";
      const spans: AnsiSpan[] = [];
      let from = 0;
      for (let at = text.indexOf(ESCAPE); at !== -1; at = text.indexOf(ESCAPE, at)) {
        const found = readSequence(text, at);
        if (found === "partial" && text.length - at <= MAX_SEQUENCE) {
          pending = text.slice(at);
          spans.push(...shown(text.slice(from, at)));
          return spans;
        }
        if (typeof found === "string") {
          at += 1;
          continue;
        }
        spans.push(...shown(text.slice(from, at)));
        if (found.sgr !== null) style = applySgr(style, found.sgr);
        from = found.end;
        at = found.end;
      }
      spans.push(...shown(text.slice(from)));
      return spans;
    },
    end: () => {
      const rest = shown(pending);
      pending = "";
      return rest;
    },
  };
}

const visiblePart = (part: string): string => (part === "\n" || part === "\r" ? part : visibleLine(part));
