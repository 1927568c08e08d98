// Runs one test file in a process of its own, and keeps what it said.

import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { inspect } from "node:util";
import type { FileFolders } from "./file-folders.ts";
import { describeHang, reportFlags } from "./hang-report.ts";
import { ROOT, type TestFile } from "./select-files.ts";

/** Of one test: a test that hangs is a failure, not a suite without an end. */
const TEST_LIMIT_MS = 600_000;

export interface Failure {
  readonly name: string;
  /** Where the test is written: `path:line:column`. */
  readonly place: string;
  readonly error: string;
}

export interface FileResult {
  readonly file: TestFile;
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** The reason of each test or suite that was skipped. */
  readonly skips: readonly string[];
  readonly seconds: number;
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
  /** Of the whole file. */
  readonly limitMs: number;
  /** The second time its log has another name. */
  readonly isAgain: boolean;
  readonly folders: FileFolders;
  readonly signal: AbortSignal;
}

interface TestEvent {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
  readonly details: { duration_ms: number; type?: string; error?: Error & { failureType?: string } };
}

/** Errors that only repeat another test's. */
const REPEATED = new Set(["subtestsFailed", "cancelledByParent"]);

export async function runFile(file: TestFile, options: RunFileOptions): Promise<FileResult> {
  const { env, logs, namePatterns, limitMs, isAgain, folders, signal } = options;
  const whole = path.join(ROOT, file.path);
  const log = path.join(logs, `${file.path.replaceAll("/", "+")}${isAgain ? ".again" : ""}.log`);
  await mkdir(logs, { recursive: true });
  const reports = `${log}.reports`;
  const output = createWriteStream(log);
  const over = new AbortController();
  const startedAt = performance.now();
  const failures: Failure[] = [];
  const skips: string[] = [];
  let passed = 0;
  let ofFile: Failure | null = null;
  let hang: string[] = [];
  /** Tests that have begun and not ended. */
  const open = new Map<string, string>();
  const keyOf = ({ nesting, name, line }: { nesting: number; name: string; line?: number }): string =>
    `${nesting} ${line} ${name}`;

  const take = (isPassed: boolean, event: TestEvent): void => {
    const { name, nesting, details, skip } = event;
    const mark = isPassed ? (skip === undefined ? "✔" : "﹣") : "✖";
    output.write(`${"  ".repeat(nesting)}${mark} ${name} (${details.duration_ms.toFixed(1)}ms)\n`);
    if (skip !== undefined) skips.push(typeof skip === "string" ? skip : "no reason is given");
    else if (isPassed && details.type !== "suite" && name !== whole) passed += 1;
    if (isPassed || skip !== undefined || event.todo !== undefined) return;
    const failure = describeFailure(event, file);
    output.write(`${failure.error}\n`);
    if (name === whole) ofFile = failure;
    else if (!REPEATED.has(details.error?.failureType ?? "")) failures.push(failure);
  };

  const stream = run({
    files: [whole],
    isolation: "process",
    concurrency: 1,
    env: { ...env, ...folders.env },
    // The flags this process was started with are those by which Node runs our sources.
    execArgv: [...process.execArgv, ...reportFlags(reports), `--test-timeout=${TEST_LIMIT_MS}`],
    signal: AbortSignal.any([signal, over.signal]),
    ...(namePatterns.length > 0 && { testNamePatterns: [...namePatterns] }),
  });
  stream.on("test:pass", (event) => take(true, event));
  stream.on("test:fail", (event) => take(false, event));
  for (const type of ["test:stdout", "test:stderr"] as const)
    stream.on(type, ({ message }: { message: string }) => output.write(message));
  stream.on("test:dequeue", (event) => void (event.name !== whole && open.set(keyOf(event), event.name)));
  stream.on("test:complete", (event) => void open.delete(keyOf(event)));
  stream.resume();
  const cutOff = async (): Promise<void> => {
    hang = [...[...open.values()].map((name) => `in "${name}"`), ...(await describeHang(whole, reports))];
    over.abort();
  };
  const limit = setTimeout(() => void cutOff(), limitMs);
  await finished(stream);
  clearTimeout(limit);
  const left = signal.aborted ? [] : await folders.close();
  for (const each of left) output.write(`It left behind: ${each}\n`);
  output.end();
  await finished(output);

  // The end of the file says more than its tests when it was cut off, or when none of them failed.
  const wholeFailure = ofFile as Failure | null;
  if (over.signal.aborted) {
    const error = [`It had not ended after ${Math.round(limitMs / 1_000)} s.`, ...hang].join("\n");
    failures.splice(0, failures.length, { name: file.path, place: `${file.path}:1:1`, error });
  } else if (wholeFailure !== null && failures.length === 0) failures.push(wholeFailure);
  return { file, passed, failures, skips, seconds: (performance.now() - startedAt) / 1_000, left, log };
}

function describeFailure({ name, file, line, column, details }: TestEvent, { path: own }: TestFile): Failure {
  const { error } = details;
  const cause = error?.cause ?? error;
  return {
    name: name === path.join(ROOT, own) ? own : name,
    place: `${file === undefined ? own : path.relative(ROOT, file)}:${line ?? 1}:${column ?? 1}`,
    error: typeof cause === "string" ? cause : inspect(cause, { depth: 4, breakLength: 120 }),
  };
}
