import type { Readable } from "node:stream";

/**
 * What a supervisor is told on its standard input: maybe a line at its boot, and at its end the workspace that it serves.
 *
 * @param onLine is given the line as soon as it is there.
 * @returns what comes after it; empty when there is no workspace.
 */
export async function readWords(input: Readable, onLine: (line: string) => void): Promise<string> {
  let words = "";
  input.setEncoding("utf8");
  for await (const piece of input as AsyncIterable<string>) {
    words += piece;
    const end = words.indexOf("\n");
    if (end < 0) continue;
    onLine(words.slice(0, end));
    words = words.slice(end + 1);
  }
  return words;
}
