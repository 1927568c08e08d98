// Runs files beside each other, as many as the machine bears.

import { setTimeout as sleep } from "node:timers/promises";
import { idleCoresMeter } from "./idle-cores.ts";
import type { FileResult } from "./run-file.ts";
import type { TestFile } from "./select-files.ts";

export interface Room {
  /** So many files run at once, however busy the machine is. */
  readonly least: number;
  /** No more than these, however idle it is. */
  readonly most: number;
}

const LOOK_MS = 250;
/** A file that has begun needs a core for a second. */
const ENOUGH_IDLE_CORES = 0.15;

/**
 * Begins the files in their order, each when a part of the machine was idle a moment ago: files wait a lot, for PostgreSQL, for a
 * lease, for each other, and beside too many others each takes more of the processor.
 *
 * @returns the results in the order of their ends
 */
export async function runAll(
  files: readonly TestFile[],
  { least, most }: Room,
  run: (file: TestFile) => Promise<FileResult>,
): Promise<FileResult[]> {
  const waiting = [...files];
  const running = new Map<TestFile, Promise<void>>();
  const results: FileResult[] = [];
  const begin = (): void => {
    const file = waiting.shift();
    if (file === undefined) return;
    const end = run(file).then((result) => {
      results.push(result);
      running.delete(file);
    });
    running.set(file, end);
  };
  const idleCores = idleCoresMeter();
  let lookAt = 0;
  while (waiting.length > 0 || running.size > 0) {
    while (waiting.length > 0 && running.size < least) begin();
    if (performance.now() >= lookAt) {
      lookAt = performance.now() + LOOK_MS;
      const isIdle = (idleCores() ?? 0) >= ENOUGH_IDLE_CORES;
      if (isIdle && running.size < most) begin();
    }
    const look = new AbortController();
    await Promise.race([
      ...running.values(),
      sleep(LOOK_MS, null, { signal: look.signal }).catch(() => null),
    ]);
    look.abort();
  }
  return results;
}
