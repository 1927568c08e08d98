// Runs files beside each other, as many as the machine bears.

import type { FileResult } from "./run-file.ts";
import type { TestFile } from "./select-files.ts";

export interface Room {
  readonly files: number;
  /** Of these, how many may be heavy. */
  readonly heavy: number;
}

/**
 * Begins the files in their order, but a heavy one only when few enough of them are running.
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
    const heavy = [...running.keys()].filter(({ isHeavy }) => isHeavy).length;
    const at = waiting.findIndex(({ isHeavy }) => !isHeavy || heavy < room.heavy);
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
