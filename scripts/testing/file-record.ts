// What the events of one test file's run say.

import type { Writable } from "node:stream";
import type { run } from "node:test";
import path from "node:path";
import { inspect } from "node:util";
import { ROOT, type TestFile } from "./select-files.ts";
import { nameSources } from "./source-places.ts";

export interface Failure {
  readonly name: string;
  /** Where the test is written: `path:line:column`. */
  readonly place: string;
  readonly error: string;
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

/** At the outermost level they are the sums of the run. */
const SUMS = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /;

export class FileRecord {
  passed = 0;
  readonly failures: Failure[] = [];
  /** The reason of each test or suite that was skipped. */
  readonly skips: string[] = [];
  /** What the tests printed. */
  readonly printed: string[] = [];
  /** The file as a whole: it could not be loaded, or was ended. */
  ofFile: Failure | null = null;
  /** Tests that have begun and not ended. */
  readonly #open = new Map<string, string>();
  readonly #file: TestFile;
  readonly #output: Writable;

  /** @param output gets everything, for a person */
  constructor(file: TestFile, output: Writable) {
    this.#file = file;
    this.#output = output;
  }

  get open(): string[] {
    return [...this.#open.values()];
  }

  follow(stream: ReturnType<typeof run>): void {
    stream.on("test:pass", (event) => this.#take(true, event));
    stream.on("test:fail", (event) => this.#take(false, event));
    stream.on("test:stdout", ({ message }) => {
      this.printed.push(message);
      this.#output.write(nameSources(message));
    });
    stream.on("test:stderr", ({ message }) => void this.#output.write(nameSources(message)));
    stream.on("test:diagnostic", ({ message, nesting }) => {
      if (nesting === 0 && SUMS.test(message)) return;
      this.printed.push(message);
      this.#output.write(`${message}\n`);
    });
    stream.on("test:dequeue", (event) => {
      if (!this.#isWhole(event.name)) this.#open.set(keyOf(event), event.name);
    });
    stream.on("test:complete", (event) => void this.#open.delete(keyOf(event)));
    stream.resume();
  }

  #isWhole(name: string): boolean {
    return name === path.join(ROOT, this.#file.path);
  }

  #take(isPassed: boolean, event: TestEvent): void {
    const { name, nesting, details, skip } = event;
    const mark = isPassed ? (skip === undefined ? "✔" : "﹣") : "✖";
    this.#output.write(`${"  ".repeat(nesting)}${mark} ${name} (${details.duration_ms.toFixed(1)}ms)\n`);
    if (skip !== undefined) this.skips.push(typeof skip === "string" ? skip : "no reason is given");
    else if (isPassed && details.type !== "suite" && !this.#isWhole(name)) this.passed += 1;
    if (isPassed || skip !== undefined || event.todo !== undefined) return;
    const failure = describeFailure(event, this.#file);
    this.#output.write(`${failure.error}\n`);
    if (this.#isWhole(name)) this.ofFile = failure;
    else if (!REPEATED.has(details.error?.failureType ?? "")) this.failures.push(failure);
  }
}

const keyOf = ({ nesting, name, line }: { nesting: number; name: string; line?: number }): string =>
  `${nesting} ${line} ${name}`;

function describeFailure({ name, file, line, column, details }: TestEvent, { path: own }: TestFile): Failure {
  const { error } = details;
  const cause = error?.cause ?? error;
  return {
    name: name === path.join(ROOT, own) ? own : name,
    place: `${file === undefined ? own : path.relative(ROOT, file)}:${line ?? 1}:${column ?? 1}`,
    error: nameSources(typeof cause === "string" ? cause : inspect(cause, { depth: 4, breakLength: 120 })),
  };
}
