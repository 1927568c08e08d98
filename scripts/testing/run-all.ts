// Runs files beside each other, as many as the machine bears.

import type { FileResult } from "./run-file.ts";
import type { TestFile } from "./select-files.ts";

export interface Room {
  readonly files: number;
  /** How many cores the files may keep busy together. One that needs more runs alone. */
  readonly load: number;
}

/**
 * Begins the files in their order, but passes over one for which there is no room yet: a file that waits most of the time
 * runs beside a busy one.
 *
 * @returns the results in the order of their ends
 */
export async function runAll(
  files: readonly TestFile[],
  room: Room,
  run: (file: TestFile) => Promise<FileResult>,
): Promise<FileResult[]> {
  const waiting = [...files];
  const running = new Map<TestFile, Promise<void>>();
  const results: FileResult[] = [];
  const takeNext = (): TestFile | undefined => {
    if (running.size >= room.files) return undefined;
    const busy = [...running.keys()].reduce((sum, { load }) => sum + load, 0);
    const at = waiting.findIndex(({ load }) => running.size === 0 || busy + load <= room.load);
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  };
  while (waiting.length > 0 || running.size > 0) {
    for (let file = takeNext(); file !== undefined; file = takeNext()) {
      const begun = file;
      const end = run(begun).then((result) => {
        results.push(result);
        running.delete(begun);
      });
      running.set(begun, end);
    }
    await Promise.race(running.values());
  }
  return results;
}
