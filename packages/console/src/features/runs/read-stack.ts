export type StackLine = { text: string; isOwn: boolean };

/** Frames of Node.js, of packages and of the SDK are of no code that one wrote for this task. */
const FOREIGN =
  /\(?(node:|.*[/\\]node_modules[/\\])|\(native\)|\(<anonymous>\)|^\s*at (async )?(Promise\.all|new Promise)\b/;
const MAX_LINES = 500;

/** A stack's lines: the message, and frames, those of the run's own code marked. */
export function readStack(stack: string): StackLine[] {
  return stack
    .split("\n", MAX_LINES)
    .map((text) => ({ text, isOwn: /^\s+at /.test(text) && !FOREIGN.test(text) }));
}
