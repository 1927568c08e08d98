import { readStack, type StackLine } from "../read-stack.ts";

/** Lines of a stack that are shown, or frames of others that are folded. */
export type StackPart = { isFolded: boolean; lines: readonly StackLine[] };

/** The text is the run's own, and an expression may take its length squared. */
const MAX_FRAME_CHARACTERS = 2000;

const isFrame = ({ text }: StackLine): boolean => /^\s+at /.test(text);

/**
 * A stack with its own frames first: those of Node.js and of packages are folded, one fold for each error in it. A stack
 * without own frames is shown whole, as nothing in it says more.
 */
export function foldStack(stack: string): StackPart[] {
  const lines = readStack(stack);
  if (!lines.some(({ isOwn }) => isOwn)) return [{ isFolded: false, lines }];
  const parts: StackPart[] = [];
  let shown: StackLine[] = [];
  let others: StackLine[] = [];
  const flush = (): void => {
    if (shown.length > 0) parts.push({ isFolded: false, lines: shown });
    if (others.length > 0) parts.push({ isFolded: true, lines: others });
    shown = [];
    others = [];
  };
  for (const line of lines) {
    // The next error, such as a cause, has frames of its own.
    if (!isFrame(line) && others.length > 0) flush();
    if (isFrame(line) && !line.isOwn) others.push(line);
    else shown.push(line);
  }
  flush();
  return parts;
}

/** A frame's text around its file and line: `at work (`, `src/work.ts:3:9`, `)`. Null where it has none. */
export function partsOfFrame(text: string): readonly [before: string, place: string, after: string] | null {
  if (text.length > MAX_FRAME_CHARACTERS) return null;
  const found = /^(\s+at (?:.* \()?)(\S.*?:\d+:\d+)(\)?)$/.exec(text);
  return found === null ? null : [found[1] ?? "", found[2] ?? "", found[3] ?? ""];
}
