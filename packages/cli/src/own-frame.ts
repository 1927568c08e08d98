import { existsSync } from "node:fs";
import { join } from "node:path";

/** `at run (file:///…/src/tasks/a.ts:3:9)`, or without a function's name. */
const FRAME = /^\s+at (?:.*\()?(.+):([0-9]+):([0-9]+)\)?$/;

/** The file of a frame, relative to the project; null for one that the project does not have. */
function fileOf(path: string, directory: string): string | null {
  const parts = path.replace(/^file:\/\//, "").split("/");
  if (parts.includes("node_modules") || path.startsWith("node:")) return null;
  // A bundle names files relative to the project, below a folder that the worker chose.
  for (let from = 0; from < parts.length; from += 1) {
    const candidate = parts.slice(from).join("/");
    if (candidate !== "" && !candidate.startsWith("/") && existsSync(join(directory, candidate)))
      return candidate;
  }
  return null;
}

/** A line of a stack that begins what an error was caused by, or a part of an AggregateError. */
const CAUSE = /^\[(?:cause|errors \d+)\] (.+)$/;

/** What an error was caused by, the nearest first: `TypeError: fetch failed`. */
export const causesOf = (stack: string | null): string[] =>
  (stack?.split("\n") ?? []).flatMap((line) => CAUSE.exec(line)?.[1] ?? []);

/** Where in the project's own code an error came from, as `src/tasks/a.ts:3:9`; null when no frame is of it. */
export function ownFrame(stack: string | null, directory: string): string | null {
  for (const line of stack?.split("\n") ?? []) {
    const [, path, row, column] = FRAME.exec(line) ?? [];
    const file = path === undefined ? null : fileOf(path, directory);
    if (file !== null) return `${file}:${row}:${column}`;
  }
  return null;
}
