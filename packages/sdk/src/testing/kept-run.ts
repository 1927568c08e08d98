import type {
  ExecuteInput,
  ExecuteResult,
  JournalEntry,
  LeasedRun,
  MetadataChange,
  RunFailure,
  UsageAmount,
  WaitState,
} from "@keelson/contract";
import type { RetryPolicy } from "@keelson/contract";
import { DEFAULT_RETRY, parseDuration } from "@keelson/contract/plain";
import { randomFraction } from "../client/random.ts";
import { execute } from "../runtime/execute.ts";
import type { Harness } from "./harness.ts";
import { newId } from "./new-id.ts";
import { openHost } from "./open-host.ts";
import type { SessionStore } from "./test-session.ts";
import type { RunView, TestStep } from "./run-view.ts";
import { TestWaits } from "./test-waits.ts";

/** How a run has ended, as the wait of its parent has it. */
export type Ending = {
  status: "succeeded" | "failed" | "cancelled";
  output: unknown;
  failure: RunFailure | null;
};

/** What a run is started with. */
export type NewRun = {
  entrypoint: ExecuteInput["entrypoint"];
  payload: unknown;
  metadata: Record<string, unknown>;
  tags: readonly string[];
  queue: string;
  secrets: Record<string, string>;
  retry: RetryPolicy | undefined;
  parentRunId: string | null;
  session: SessionStore | null;
  turn: number | null;
  /** Until its first attempt. */
  delayMs: number;
  /** Stands for the code of its task. */
  stub: ((payload: unknown) => unknown) | null;
};

/** An entry of the journal, and when it was entered. */
export type KeptEntry = JournalEntry & { at: string };

type Failure = Extract<ExecuteResult, { outcome: "failed" }>["failure"];

const NEVER_RETRIED: readonly string[] = ["payload_invalid", "bundle_error", "nondeterministic_replay"];

/** As on a server: until a run goes on that continues. */
const CONTINUE_DELAY_MS = 1_000;

/** One run, as a server keeps it. */
export class KeptRun {
  readonly id = newId("run");
  readonly start: NewRun;
  readonly journal: KeptEntry[] = [];
  readonly waits: TestWaits;
  readonly steps: TestStep[] = [];
  readonly logs: string[] = [];
  readonly used: UsageAmount[] = [];
  readonly sent: RunView["sent"][number][] = [];
  metadata: Record<string, unknown>;
  status: RunView["status"] = "queued";
  attempt = 0;
  /** Attempts before the last continuation. */
  attemptsBefore = 0;
  continuations = 0;
  /** What its code is given: the payload of the start, or of the last continuation. */
  payload: unknown;
  ending: Ending | null = null;
  /** Its code does nothing but wait. */
  isParked = false;
  readonly ended: Promise<Ending>;
  /** What its code knew each time it came to an end of a journal, for a check. */
  readonly replays: Omit<ExecuteInput, "host">[] = [];
  readonly #harness: Harness;
  readonly #end: (ending: Ending) => void;
  #abort = new AbortController();
  #listeners: { settled(waits: WaitState[]): void; interrupted(messageId: string): void } | null = null;
  readonly #createdAt: string;
  #forgetDelay = (): void => undefined;

  constructor(harness: Harness, start: NewRun) {
    this.#harness = harness;
    this.start = start;
    this.metadata = start.metadata;
    this.payload = start.payload;
    this.waits = new TestWaits(harness, this);
    this.#createdAt = harness.clock.timestamp();
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    this.#end = resolve;
    if (start.delayMs === 0) this.#begin();
    else this.#delay(start.delayMs, "queued");
  }

  get session(): SessionStore | null {
    return this.start.session;
  }

  /** Nothing of it goes on until time passes or somebody acts. */
  get isResting(): boolean {
    return (
      this.ending !== null || this.isParked || this.status === "retry_delayed" || this.status === "queued"
    );
  }

  /** A worker has its code. */
  get isExecuting(): boolean {
    return this.#listeners !== null;
  }

  get maxAttempts(): number {
    return this.start.retry?.max_attempts ?? DEFAULT_RETRY.max_attempts;
  }

  /** Waits have settled: the code hears of it, a moment later as from a server. */
  resume(): void {
    this.isParked = false;
    if (this.status === "waiting") this.status = "running";
    this.#later(() => this.#listeners?.settled(structuredClone(this.waits.news)));
  }

  interrupt(messageId: string): void {
    this.#later(() => this.#listeners?.interrupted(messageId));
  }

  listen(
    listeners: Partial<{ settled(waits: WaitState[]): void; interrupted(messageId: string): void }>,
  ): void {
    const former = this.#listeners ?? { settled: () => undefined, interrupted: () => undefined };
    this.#listeners = { ...former, ...listeners };
  }

  /** Asks for its end, and that of all runs that it has started. */
  cancel(): void {
    for (const child of this.#harness.childrenOf(this)) child.cancel();
    if (this.ending !== null || this.status === "cancel_requested") return;
    const reason = Object.assign(new Error("The run was cancelled."), { name: "CancelledError" });
    // As on a server, the code of a run that only waits hears of nothing: it does not go on. A function in its place never hears of anything.
    if (this.isResting || this.start.stub !== null)
      return this.#settle({ status: "cancelled", output: null, failure: null });
    this.status = "cancel_requested";
    this.isParked = false;
    this.#abort.abort(reason);
  }

  /** Puts an entry into the journal: the code does not only wait. */
  enter(entry: Omit<JournalEntry, "attempt_number">): void {
    this.isParked = false;
    this.journal.push({ ...entry, attempt_number: this.attempt, at: this.#harness.clock.timestamp() });
  }

  changeMetadata(changes: readonly MetadataChange[]): void {
    const metadata = new Map<string, unknown>(Object.entries(this.metadata));
    for (const { op, key, value } of structuredClone(changes) as MetadataChange[]) {
      const present = metadata.get(key);
      if (op === "set") metadata.set(key, value);
      if (op === "remove") metadata.delete(key);
      if (op === "increment") metadata.set(key, ((present as number | undefined) ?? 0) + (value as number));
      if (op === "append") metadata.set(key, [...((present as unknown[] | undefined) ?? []), value]);
    }
    this.metadata = Object.fromEntries(metadata);
  }

  leased(): LeasedRun {
    const { entrypoint, tags, queue, session, turn, parentRunId } = this.start;
    const { kind, declaredId } = entrypoint;
    return {
      ...{ id: this.id, ...this.#harness.place },
      task: kind === "task" ? declaredId : null,
      actor: kind === "actor" ? declaredId : null,
      ...{ attempt_number: this.attempt - this.attemptsBefore, max_attempts: this.maxAttempts },
      continuations: this.continuations,
      payload: structuredClone(this.payload),
      metadata: structuredClone(this.metadata),
      ...{ tags: [...tags], queue, created_at: this.#createdAt, deployment_version: "test" },
      ...{ session_id: session?.id ?? null, turn, parent_run_id: parentRunId },
      ...{ schedule_id: null, workspace_id: null },
    };
  }

  #begin(): void {
    this.attempt += 1;
    this.status = "running";
    this.isParked = false;
    this.#abort = new AbortController();
    void this.#harness.outside(() => this.#execute()).then((result) => this.#release(result));
  }

  async #execute(): Promise<ExecuteResult> {
    const { stub, payload } = this.start;
    if (stub !== null) return this.#harness.runStub(() => stub(structuredClone(payload)));
    const journal = structuredClone(this.journal);
    const waits = structuredClone(this.waits.open.map(({ state }) => state));
    const input = this.#harness.inputOf(this, this.#abort.signal, { journal, waits });
    this.listen({});
    return execute({ ...input, host: openHost(this.#harness, this) });
  }

  #release(result: ExecuteResult): void {
    if (this.ending !== null) return;
    this.#listeners = null;
    this.isParked = false;
    if (this.status === "cancel_requested")
      return this.#settle({ status: "cancelled", output: null, failure: null });
    if (result.outcome === "succeeded") {
      const output = result.output === null ? null : (JSON.parse(result.output) as unknown);
      return this.#settle({ status: "succeeded", output, failure: null });
    }
    if (result.outcome === "failed") return this.#fail(result.failure);
    if (result.outcome === "continued") return this.#continue(result.payload);
    throw new Error(`An execution in process ended as ${result.outcome}.`);
  }

  /** As the server decides. */
  #fail({ retryAfterMs, ...failure }: Failure): void {
    const isRetried =
      failure.retryable &&
      !NEVER_RETRIED.includes(failure.kind) &&
      this.attempt - this.attemptsBefore < this.maxAttempts;
    if (!isRetried) return this.#settle({ status: "failed", output: null, failure });
    this.#delay(retryAfterMs ?? this.#retryDelayMs(), "retry_delayed");
  }

  /** As the server does: the run is the same, and has an empty journal. */
  #continue(payload: string | null): void {
    this.#keepForReplay();
    this.continuations += 1;
    this.attemptsBefore = this.attempt;
    this.payload = payload === null ? null : (JSON.parse(payload) as unknown);
    this.journal.length = 0;
    this.waits.drop();
    this.#delay(CONTINUE_DELAY_MS, "queued");
  }

  #keepForReplay(): void {
    this.replays.push(
      this.#harness.inputOf(this, new AbortController().signal, {
        journal: structuredClone(this.journal),
        waits: structuredClone(this.waits.open.map(({ state }) => state)),
      }),
    );
  }

  #retryDelayMs(): number {
    const { initial_delay, max_delay, factor, jitter } = { ...DEFAULT_RETRY, ...this.start.retry };
    const [first = 0, most = 0] = [parseDuration(initial_delay), parseDuration(max_delay)].map(
      (ms) => ms ?? 0,
    );
    const full = Math.min(most, first * factor ** (this.attempt - this.attemptsBefore - 1));
    return Math.round(jitter ? full * (0.5 + randomFraction() / 2) : full);
  }

  #delay(ms: number, status: "queued" | "retry_delayed"): void {
    this.status = status;
    const { clock } = this.#harness;
    this.#forgetDelay = clock.at(clock.now + ms, () => this.#begin());
    this.#harness.touch();
  }

  #settle(ending: Ending): void {
    this.#forgetDelay();
    this.#listeners = null;
    this.status = ending.status;
    this.ending = ending;
    this.#keepForReplay();
    this.waits.end();
    this.#harness.runEnded(this);
    this.#end(ending);
  }

  #later(act: () => void): void {
    this.#harness.outside(() => setImmediate(act));
    this.#harness.touch();
  }
}
