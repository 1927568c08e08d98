import { ACTION_MARK } from "./messages.ts";

export type Answer = {
  /** Without the line of the action. */
  text: string;
  /** What the assistant wants to do, or null. */
  action: string | null;
};

/**
 * Passes on what is to be read of an answer, as it comes, and returns the whole of it. A line that may become the one of
 * the action is held back until that is known.
 */
export async function* splitAnswer(pieces: AsyncIterable<string>): AsyncGenerator<string, Answer> {
  let text = "";
  let held = "";
  for await (const piece of pieces) {
    held += piece;
    const shown = held.slice(0, findHeld(held, text === ""));
    held = held.slice(shown.length);
    text += shown;
    if (shown !== "") yield shown;
  }
  const action = readAction(held);
  if (action === null && held !== "") {
    text += held;
    yield held;
  }
  return { text, action };
}

/** From where on a text may be the line of the action, with the line break before it; its length when nothing may be. */
function findHeld(text: string, isStart: boolean): number {
  const starts = [...text.matchAll(/\s*\n\s*/g)].map((match) => ({
    from: match.index,
    line: text.slice(match.index + match[0].length),
  }));
  if (isStart) starts.unshift({ from: 0, line: text });
  const found = starts.find(({ line }) => line.startsWith(ACTION_MARK) || ACTION_MARK.startsWith(line));
  return found?.from ?? text.length;
}

function readAction(line: string): string | null {
  // What comes after it was not asked for.
  const [first = ""] = line.trim().split("\n");
  return first.startsWith(ACTION_MARK) ? first.slice(ACTION_MARK.length).trim() || null : null;
}

/** The answer as the model wrote it. */
export const joinAnswer = ({ text, action }: Answer): string =>
  action === null ? text : `${text}\n${ACTION_MARK} ${action}`;
