// Runs files, and once more those that failed: what fails then is a failure, what passes is said to be unsteady.

import { childrenCpuSeconds } from "./cpu-time.ts";
import { runAll, type Room } from "./run-all.ts";
import type { FileFolders } from "./file-folders.ts";
import { runFile, type FileResult } from "./run-file.ts";
import type { TestFile } from "./select-files.ts";

/** So many failures are no accident of the machine. */
const MAX_SECOND_CHANCES = 20;
/** How much longer a test waits when its file has its second chance. */
const PATIENCE = 3;
/** Of one test. */
const TEST_LIMIT_MS = 600_000;
/** In which no test of a file ends: more than any takes, and several times what the whole file took when it was recorded. */
const SHORTEST_LIMIT_MS = 300_000;
const LIMIT_FACTOR = 5;

export interface RunTwiceOptions {
  readonly room: Room;
  readonly env: Readonly<Record<string, string>>;
  readonly logs: string;
  readonly namePatterns: readonly string[];
  readonly isStrict: boolean;
  /** Of the time in which no test of a file ends, at least, and of one test. */
  readonly shortestLimitMs?: number;
  readonly testLimitMs?: number;
  readonly signal: AbortSignal;
  /** The folders of the n-th run of a file. */
  openFolders(n: number): Promise<FileFolders>;
  onAgain(file: TestFile): void;
  onResult(result: FileResult): void;
}

export interface TwiceResult {
  /** Of files that failed for good. */
  readonly red: readonly FileResult[];
  /** The first results of files that passed when they ran again. */
  readonly unsteady: readonly FileResult[];
  /** The result of each file that counts: the second one, when there are two. */
  readonly results: readonly FileResult[];
}

export async function runTwice(files: readonly TestFile[], options: RunTwiceOptions): Promise<TwiceResult> {
  const { env, signal, shortestLimitMs = SHORTEST_LIMIT_MS, testLimitMs = TEST_LIMIT_MS } = options;
  let opened = 0;
  let cpuSeconds = childrenCpuSeconds() ?? 0;
  const run = async (file: TestFile, patience: number): Promise<FileResult> => {
    opened += 1;
    const result = await runFile(file, {
      ...{ logs: options.logs, namePatterns: options.namePatterns, signal },
      env: { ...env, KEELSON_TEST_PATIENCE: String(patience) },
      testLimitMs,
      limitMs: Math.max(shortestLimitMs, file.seconds * 1_000 * LIMIT_FACTOR) * patience,
      isAgain: patience > 1,
      folders: await options.openFolders(opened),
    });
    // Whoever ends first counts what has ended since: two files that end in the same moment share their sum unevenly.
    const now = childrenCpuSeconds();
    const timed = { ...result, cpuSeconds: now === null ? null : now - cpuSeconds };
    cpuSeconds = now ?? 0;
    if (!signal.aborted) options.onResult(timed);
    return timed;
  };
  const results = await runAll(files, options.room, (file) => run(file, 1));
  const failed = results.filter(({ failures }) => failures.length > 0);
  const mayAgain = options.isStrict || failed.length > MAX_SECOND_CHANCES ? [] : failed;
  const unsteady: FileResult[] = [];
  const counted = new Map(results.map((result) => [result.file, result]));
  for (const first of mayAgain) {
    if (first.file.isCertain || signal.aborted) continue;
    options.onAgain(first.file);
    const again = await run(first.file, PATIENCE);
    counted.set(first.file, again);
    if (again.failures.length === 0) unsteady.push(first);
  }
  const last = [...counted.values()];
  return { red: last.filter(({ failures }) => failures.length > 0), unsteady, results: last };
}
