// Runs one test file in a process of its own, and keeps what it said.

import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import type { FileFolders } from "./file-folders.ts";
import { FileRecord, type Failure } from "./file-record.ts";
import { describeHang, reportFlags } from "./hang-report.ts";
import { ROOT, type TestFile } from "./select-files.ts";

export interface FileResult {
  readonly file: TestFile;
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** The reason of each test or suite that was skipped. */
  readonly skips: readonly string[];
  readonly seconds: number;
  /** Of these and of the file's processes, on a processor; null where it is not known. */
  readonly cpuSeconds: number | null;
  /** Lines that its tests printed: figures. */
  readonly figures: readonly string[];
  /** Processes and files that it did not end or remove; they were ended and removed then. */
  readonly left: readonly string[];
  /** The file with all that was said. */
  readonly log: string;
}

export interface RunFileOptions {
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the logs. */
  readonly logs: string;
  /** Tests whose name matches one of these; all when there are none. */
  readonly namePatterns: readonly string[];
  /** Of one test: a test that hangs is a failure, not a suite without an end. */
  readonly testLimitMs: number;
  /** Of the time in which no test of it ends. */
  readonly limitMs: number;
  /** The second time its log has another name. */
  readonly isAgain: boolean;
  readonly folders: FileFolders;
  readonly signal: AbortSignal;
}

export async function runFile(file: TestFile, options: RunFileOptions): Promise<FileResult> {
  const { env, logs, namePatterns, testLimitMs, limitMs, isAgain, folders, signal } = options;
  const whole = path.join(ROOT, file.path);
  const log = path.join(logs, `${file.path.replaceAll("/", "+")}${isAgain ? ".again" : ""}.log`);
  const reports = `${log}.reports`;
  await mkdir(logs, { recursive: true });
  const output = createWriteStream(log);
  const record = new FileRecord(file, output);
  const over = new AbortController();
  const startedAt = performance.now();
  const stream = run({
    files: [whole],
    isolation: "process",
    concurrency: 1,
    env: { ...env, ...folders.env },
    // The flags this process was started with are those by which Node runs our sources.
    execArgv: [
      ...(loadsMany(file) ? bundledFlags() : process.execArgv),
      ...reportFlags(reports),
      `--test-timeout=${testLimitMs}`,
    ],
    signal: AbortSignal.any([signal, over.signal]),
    ...(namePatterns.length > 0 && { testNamePatterns: [...namePatterns] }),
  });
  record.follow(stream);
  let hang: string[] = [];
  const cutOff = async (): Promise<void> => {
    const open = record.open.map((name) => `in "${name}"`);
    hang = [`No test of it had ended for ${Math.round(limitMs / 1_000)} s.`, ...open];
    hang.push(...(await describeHang(whole, reports)));
    over.abort();
  };
  const limit = setTimeout(() => void cutOff(), limitMs);
  // On a busy machine a file of many tests takes several times as long, and does not hang.
  stream.on("test:complete", () => limit.refresh());
  await finished(stream);
  clearTimeout(limit);
  // Who interrupts the tests is not told what they left, which is ended all the same.
  const closed = await folders.close();
  const left = signal.aborted ? [] : closed;
  for (const each of left) output.write(`It left behind: ${each}\n`);
  output.end();
  await finished(output);

  const { passed, skips, printed } = record;
  const failures = over.signal.aborted
    ? [{ name: file.path, place: `${file.path}:1:1`, error: hang.join("\n") }]
    : failuresOf(record);
  const figures = printed.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  const seconds = (performance.now() - startedAt) / 1_000;
  return { file, passed, failures, skips, seconds, cpuSeconds: null, figures, left, log };
}

/**
 * A test beside a source loads that source and few others: less than a bundle. One in `scripts` looks at the sources
 * themselves.
 */
const loadsMany = ({ path: file }: TestFile): boolean =>
  !/^(packages\/[^/]+\/src\/|scripts\/[^/]+\.test\.ts$)/.test(file);

/** The runner says where in the sources a stack is, and Node need not, although `run()` passes on each flag of this process. */
const bundledFlags = (): string[] => [
  ...process.execArgv,
  "--no-enable-source-maps",
  ...["--import", import.meta.resolve("./use-bundled.ts")],
];

/** The end of the file says more than its tests when none of them failed. */
const failuresOf = ({ failures, ofFile }: FileRecord): readonly Failure[] =>
  ofFile !== null && failures.length === 0 ? [ofFile] : failures;
