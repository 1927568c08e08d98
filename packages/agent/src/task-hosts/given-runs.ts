import type { ExecuteResult, LogStream } from "@keelson/contract";
import { TransientMap } from "@keelson/contract/transient-map";
import type { HostRun, RunEnding, RunSink, WaitingRun } from "./host-run.ts";
import { RunTickets } from "./run-tickets.ts";

type Written = { stream: LogStream; bytes: Buffer };

type GivenRun = {
  n: number;
  run: WaitingRun;
  begun: boolean;
  /** What the process wrote behind the run before it: its own, if it has begun. */
  written: Written[];
  writtenBytes: number;
  ended: PromiseWithResolvers<RunEnding>;
  /** It has ended so, and its output is still to be read. */
  result: ExecuteResult | null;
};

/** More is not kept of a run that is not known to have begun. */
const WRITTEN_BYTES = 256 * 1024;

/** A run whose process has told its result. */
export type ToldRun = { n: number; result: ExecuteResult };

export type GivenRunsOptions = {
  host: HostRun["host"];
  /** Where its tickets are made. Null: its runs are not begun one behind the other. */
  ticketsPath: string | null;
  /** Reads all that the process has told until now, unless that is being read. */
  readTold(): void;
  /** Told before the run itself is. */
  onBegun(run: WaitingRun): void;
  /** These have not begun, and will not in this process. */
  onReturned(runs: readonly WaitingRun[]): void;
  /** The process wrote this while it had no run. */
  onOther(stream: LogStream, bytes: Buffer): void;
};

/** The runs of one process, by their numbers there: those that have begun, and those that wait behind them. */
export class GivenRuns {
  readonly #options: GivenRunsOptions;
  readonly #tickets: RunTickets | null;
  /** In the order in which they were given. */
  readonly #runs = new TransientMap<number, GivenRun>();
  #last = 0;
  /**
   * The process has runs in its memory that were taken back, and may still look for their tickets: it would draw another
   * one's. It forgets them when it is told to begin the next run, and has done so when it has ended that, of this number.
   */
  #forgetsWith: number | null = null;

  constructor(options: GivenRunsOptions) {
    this.#options = options;
    this.#tickets = options.ticketsPath === null ? null : new RunTickets(options.ticketsPath);
  }

  /** What the process reads its tickets from. */
  get ticketsFd(): number | null {
    return this.#tickets?.descriptor ?? null;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** The process has had as many tickets as one has. */
  get isUsedUp(): boolean {
    return this.#tickets?.isUsedUp === true;
  }

  get takesBehind(): boolean {
    return this.#tickets !== null && this.#forgetsWith === null;
  }

  /** Of a process that has no other, or runs many at once. @returns its number */
  add(run: WaitingRun): number {
    this.#last += 1;
    const n = this.#last;
    const ended = Promise.withResolvers<RunEnding>();
    this.#runs.set(n, { n, run, begun: false, written: [], writtenBytes: 0, ended, result: null });
    return n;
  }

  /** Has it begin behind the others. @returns its number, or null when that cannot be */
  addBehind(run: WaitingRun): number | null {
    if (!this.takesBehind || this.#tickets?.issue(this.#last + 1) !== true) return null;
    return this.add(run);
  }

  /** Where the effects of a run go, which has begun when it has any. */
  begin(n: number): RunSink | undefined {
    const given = this.#runs.get(n);
    if (given === undefined) return undefined;
    if (!given.begun) {
      given.begun = true;
      this.#options.onBegun(given.run);
      given.run.begun({ host: this.#options.host, n, ended: given.ended.promise });
      for (const { stream, bytes } of given.written.splice(0)) given.run.sink.output(stream, bytes);
    }
    return given.run.sink;
  }

  /** The process wrote this when the run before that one had ended: that is no sign that this one has begun. */
  write(n: number, stream: LogStream, bytes: Buffer): void {
    const given = this.#runs.get(n);
    if (given === undefined) return this.#options.onOther(stream, bytes);
    if (given.begun) return given.run.sink.output(stream, bytes);
    given.written.push({ stream, bytes: Buffer.from(bytes) });
    given.writtenBytes += bytes.length;
    // Not at once: more of it may be read just now.
    if (given.writtenBytes > WRITTEN_BYTES) queueMicrotask(() => this.takeBack());
  }

  /** Takes those back that the process has not begun. The others have begun when this returns. */
  takeBack(): void {
    if (![...this.#runs.values()].some(({ begun }) => !begun)) return;
    const left = this.#tickets?.takeBack();
    const returned = [...this.#runs.values()].filter(({ n, begun }) => !begun && left?.has(n % 256));
    for (const { n } of returned) this.#runs.delete(n);
    if (returned.length > 0) this.#forgetsWith = this.#last + 1;
    // What the process had drawn has begun; all but the last of it have ended too, and were told.
    this.#options.readTold();
    for (const n of this.#runs.keys()) this.begin(n);
    for (const { run, written } of returned) {
      run.returned();
      for (const { stream, bytes } of written) this.#options.onOther(stream, bytes);
    }
    if (returned.length > 0) this.#options.onReturned(returned.map(({ run }) => run));
  }

  /** The process has told how it ended. False for a run that is not there any more. */
  tell(n: number, result: ExecuteResult): boolean {
    if (n === this.#forgetsWith) this.#forgetsWith = null;
    this.begin(n);
    const given = this.#runs.get(n);
    if (given === undefined) return false;
    given.result = result;
    return true;
  }

  hasTold(n: number): boolean {
    return this.#runs.get(n)?.result !== null;
  }

  told(): ToldRun[] {
    return [...this.#runs.values()].flatMap(({ n, result }) => (result === null ? [] : { n, result }));
  }

  /** The one that the process goes on to after that; 0 for none. */
  nextAfter(n: number): number {
    return [...this.#runs.keys()].find((other) => other > n) ?? 0;
  }

  finish(n: number, ending: RunEnding): void {
    const given = this.#runs.get(n);
    if (given === undefined) return;
    this.#runs.delete(n);
    const [next] = this.#runs.values();
    if (next?.begun === false) next.run.comesNext();
    given.ended.resolve(ending);
  }

  has(n: number): boolean {
    return this.#runs.has(n);
  }

  numbers(): number[] {
    return [...this.#runs.keys()];
  }

  /** The process is gone, and all that it had is taken back. */
  close(): void {
    this.takeBack();
    this.#tickets?.close();
  }
}
