import { AsyncLocalStorage } from "node:async_hooks";
import type { DurableCall, ExecuteResult, JournalEntry, WaitState } from "@keelson/contract";
import { parseDuration } from "@keelson/contract/plain";
import type { Client } from "../client/client.ts";
import { currentTimeMs } from "../client/clock.ts";
import { UsageError } from "../keelson-error.ts";
import { registry } from "../registry.ts";
import { toWireRetry } from "../retry-options.ts";
import type { RunInput } from "../runtime/durable/run-input.ts";
import { failureOf } from "../runtime/failure.ts";
import { encodeOutput } from "../runtime/output.ts";
import { checkDeclared } from "./check-declared.ts";
import { KeptRun, type NewRun } from "./kept-run.ts";
import { newId } from "./new-id.ts";
import { TestClock } from "./test-clock.ts";
import { createTestClient, type TestClient } from "./test-client.ts";
import type { SessionStore } from "./test-session.ts";
import { TestTokens } from "./test-tokens.ts";
import type { KeptWait } from "./test-waits.ts";

/** Options of `runTask()` and `openSession()`. */
export type TestOptions = {
  /** Values of the secrets that the code declares, by name. */
  secrets?: Readonly<Record<string, string>>;
  /**
   * Functions that replace the code of child tasks, by the id of the task. A function gets the payload and returns the output. A child task
   * without a function runs its own code in process.
   */
  children?: Readonly<Record<string, (payload: never) => unknown>>;
  /**
   * The client of the code, `ctx.client`: the methods that the code calls, or a `Client` of a server. Without a method here, a call rejects with a
   * UsageError. Reads of the records and messages of the test's own session need none.
   */
  client?: TestClient;
  /** The time at the start. Default: now. Time stands still, except for what is skipped. */
  now?: Date;
  /** Whether the code of runs that succeeded is replayed at the end. Default true. */
  replay?: boolean;
};

/** In so many turns of the event loop, code has heard of what happened and has called what follows from it. */
const QUIET_TURNS = 20;

type Known = { journal: JournalEntry[]; waits: WaitState[] };

/** All that one test has in the place of a server: its time, runs, tokens and session. */
export class Harness {
  readonly clock: TestClock;
  readonly tokens: TestTokens;
  readonly runs: KeptRun[] = [];
  session: SessionStore | null = null;
  /** Where all runs are. */
  readonly place = {
    project_id: newId("proj"),
    environment_id: newId("env"),
    deployment_id: newId("dep"),
  };
  /** Runs code outside of the run that has led to it. */
  readonly outside: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();
  readonly options: TestOptions;
  readonly #client: Client;
  /** When each pause between two tries of a step is over. */
  readonly #pauses = new Set<{ until: number }>();
  #isLooking = false;
  /** Turns of the event loop since something has changed. */
  #quietTurns = 0;
  #passing: { until: number; done(): void } | null = null;
  #atRest: (() => void)[] = [];

  constructor(options: TestOptions) {
    this.options = options;
    this.clock = new TestClock((options.now ?? new Date(currentTimeMs())).getTime());
    this.tokens = new TestTokens(this);
    this.#client = createTestClient(this);
  }

  /** Starts a run, whose code begins a moment later. */
  start(start: NewRun): KeptRun {
    const run = new KeptRun(this, start);
    this.runs.push(run);
    this.touch();
    return run;
  }

  startChild(parent: KeptRun, call: Extract<DurableCall, { kind: "child-runs" }>): KeptRun {
    const {
      task: id,
      payload = null,
      metadata = {},
      tags = [],
      queue,
      retry,
      delay,
      start_at,
      workspace_id,
    } = call;
    const { children = {} } = this.options;
    const stub = Object.hasOwn(children, id) ? (children[id] as (payload: unknown) => unknown) : null;
    const task = registry().tasks.get(id);
    if (task === undefined && stub === null)
      throw new UsageError(
        `The run starts the task "${id}", which this process does not declare. Import the module that declares it, or pass a function for it in \`children\`.`,
      );
    if (workspace_id !== undefined)
      throw new UsageError(`The child run of "${id}" has a workspace, and a test in process has none.`);
    const entrypoint = { kind: "task", declaredId: id } as const;
    const secrets = stub === null ? checkDeclared(entrypoint, task?.options ?? {}, this.options.secrets) : {};
    const own = task?.options.retry === undefined ? {} : toWireRetry(task.options.retry);
    const startAt = start_at === undefined ? this.clock.now : Date.parse(start_at);
    return this.start({
      ...{ entrypoint, payload, metadata, tags, stub, secrets },
      ...{ queue: queue ?? "default", retry: { ...own, ...retry }, parentRunId: parent.id },
      ...{ session: null, turn: null },
      delayMs: Math.max(0, startAt - this.clock.now + (parseDuration(delay ?? "0ms") ?? 0)),
    });
  }

  childrenOf = (run: KeptRun): KeptRun[] => this.runs.filter(({ start }) => start.parentRunId === run.id);

  /** A function of the test in the place of a task's code. */
  async runStub(stub: () => unknown): Promise<ExecuteResult> {
    try {
      const output = encodeOutput("child", await stub());
      return "text" in output ? { outcome: "succeeded", output: output.text } : output;
    } catch (error) {
      return failureOf(error);
    }
  }

  /** What an execution is given, but its host. */
  inputOf(run: KeptRun, signal: AbortSignal, { journal, waits }: Known): Omit<RunInput, "host"> {
    const { session } = run;
    return {
      ...{ entrypoint: run.start.entrypoint, run: run.leased(), journal, waits, signal },
      mayContinue: true,
      secrets: { ...run.start.secrets },
      session: session && {
        ...{ id: session.id, external_id: session.externalId, tags: [...session.tags] },
        metadata: structuredClone(session.metadata),
        closed: session.status !== "open",
      },
      client: this.#client,
      clock: {
        now: () => this.clock.now,
        sleep: (ms, pauseSignal) => this.#pause(ms, pauseSignal),
      },
    };
  }

  settleWaits(chosen: (wait: KeptWait) => boolean, value: unknown): void {
    for (const run of this.runs) run.waits.resolve(chosen, value);
  }

  runEnded(run: KeptRun): void {
    run.session?.turnEnded(run);
    this.settleWaits(({ childId }) => childId === run.id, run.ending);
    this.touch();
  }

  /** Resolves when nothing goes on until time passes that somebody else could cut short, or the test acts. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#atRest.push(resolve);
      this.touch();
    });
  }

  /** Lets time pass, once nothing else goes on, and all happen that it brings. Null: until the next thing that it brings. */
  async passTime(ms: number | null): Promise<void> {
    await this.rest();
    const next = this.clock.next();
    if (ms === null && next === null)
      throw new UsageError("passTime() needs a duration here: nothing that the run waits for has a time.");
    const until = ms === null ? (next as number) : this.clock.now + ms;
    await new Promise<void>((done) => {
      this.#passing = { until, done };
      this.touch();
    });
  }

  /** Something has changed: looks what happens next, a moment later. */
  touch(): void {
    this.#quietTurns = 0;
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.outside(() =>
      setImmediate(() => {
        this.#isLooking = false;
        this.#look();
      }),
    );
  }

  /**
   * Time passes on its own when all that goes on waits for nothing else. While a run waits for a token or for input, the test may be
   * about to bring that: then time passes by its word alone.
   */
  #look(): void {
    const next = this.clock.next();
    const live = this.runs.filter(({ ending }) => ending === null);
    if (live.some(({ isResting }) => !isResting)) {
      this.#lookForPause(next);
      return;
    }
    const passing = this.#passing;
    if (passing !== null && next !== null && next <= passing.until) return this.#advance();
    if (passing !== null) {
      this.clock.passTo(passing.until);
      this.#passing = null;
      passing.done();
    }
    const isHeld = live.some(({ waits }) => waits.pending.some(isForTest));
    if (!isHeld && next !== null && live.length > 0) return this.#advance();
    for (const resolve of this.#atRest.splice(0)) resolve();
  }

  #advance(): void {
    this.#quietTurns = 0;
    this.clock.advance();
    this.touch();
  }

  /**
   * Runs are at work, perhaps at nothing but pauses between tries: these are skipped, with all that comes before them. What time has brought
   * before has some turns of the event loop to be heard and answered in.
   */
  #lookForPause(next: number | null): void {
    const pause = Math.min(...[...this.#pauses].map(({ until }) => until));
    if (this.#pauses.size === 0 || next === null || next > pause) return;
    this.#quietTurns += 1;
    if (this.#quietTurns > QUIET_TURNS) this.#advance();
    else this.#lookLater();
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const pause = { until: this.clock.now + ms };
    this.#pauses.add(pause);
    this.touch();
    return new Promise((resolve, reject) => {
      const end = (act: () => void): void => {
        signal.removeEventListener("abort", onAbort);
        this.#pauses.delete(pause);
        act();
      };
      const forget = this.clock.at(pause.until, () => end(resolve));
      const onAbort = (): void => {
        forget();
        end(() => reject(signal.reason as Error));
      };
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** The test can end it. */
const isForTest = ({ state }: KeptWait): boolean => state.kind === "token" || state.kind === "input";
