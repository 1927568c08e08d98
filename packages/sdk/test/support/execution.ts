import {
  parseDuration,
  type DurableCall,
  type ExecuteInput,
  type ExecuteResult,
  type Execution as LeasedExecution,
  type RuntimeHost,
  type WaitsResult,
  type WaitState,
} from "@keelson/contract";
import { keelson } from "@keelson/sdk/runtime";
import { decideRelease, type Release } from "../../../agent/src/executions/decide-release.ts";
import { Parking } from "../../../agent/src/executions/parking.ts";
import { openDurablePort, type DurablePort } from "../../../agent/src/host/durable-port.ts";
import type { CallAnswer, FromHost } from "../../../agent/src/host/frames.ts";
import { stopReason } from "../../../agent/src/host/run-attempt.ts";
import type { LeaseChannel } from "../../../agent/src/reporter/lease-channel.ts";
import type { RunEnding } from "../../../agent/src/task-hosts/host-run.ts";
import type { KeptRun } from "./kept-run.ts";
import { testWorker, type TestWorker } from "./test-worker.ts";
import { outsidePlaces, type VirtualPlace } from "./virtual-clock.ts";

/** By the worker's clock. The server compares a worker's times with each other only. */
const REPORTED_AT = "2026-11-20T09:15:00.123Z";

/** From outside, as its agent drains: the run is handed back, or suspended when it only waited. */
const KILLED: RunEnding = {
  kind: "died",
  death: {
    exitCode: null,
    signal: "SIGKILL",
    killCause: null,
    uncaught: null,
    stderrTail: "",
    spawnError: null,
    starved: false,
  },
};

export type ExecutionOptions = {
  /** Where the files of the run's workspace are. */
  workspacePath?: string;
  /** Null for a worker that gives none. Default: that of the lease. */
  access?: { url: string; credential: string } | null;
  /**
   * The process dies at the call of this number, 0 for the first, before or after it has had its effect; or when the
   * code has ended and it has not said how yet.
   */
  dieAt?: { call: number; applied: boolean } | "end";
  /** The machine dies with the process: nobody tells the server. Default: the worker hands the run back. */
  isMachineLost?: boolean;
  /** The worker knows continuations. Default: as the server says. */
  mayContinue?: boolean;
  /** Timers of its code are those of the test's clock. Default: the machine's. */
  isTimeVirtual?: boolean;
  /** How many turns of the event loop each answer takes. Default 1. */
  delayOf?: (call: number) => number;
};

/** One execution of a run by the SDK, in a process that may die, as the agent gives it to a process and reports it. */
export class Execution {
  /** Null when the process has died. The server has the ending then, or knows of the death if anybody tells it. */
  readonly ended: Promise<ExecuteResult | null>;
  /** Its code can begin. */
  readonly begun: Promise<void>;
  /** How the code ended whose process died then. */
  result: ExecuteResult | null = null;
  readonly #run: KeptRun;
  readonly #options: ExecutionOptions;
  readonly #begun = Promise.withResolvers<void>();
  readonly #died = Promise.withResolvers<null>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  readonly #parking = new Parking({
    parkAfterMs: 2 ** 31 - 1,
    onParked: () => undefined,
    onUnparked: () => undefined,
    ask: () => this.#ask(),
  });
  #place: VirtualPlace | null = null;
  #channel: LeaseChannel | null = null;
  #port: DurablePort | null = null;
  #parks = 0;
  #parksSeen = 0;
  #onParked: (() => void)[] = [];
  #isSuspending = false;
  #calls = 0;
  #open = 0;
  #onAnswer: (() => void)[] = [];
  #answers: Promise<void> = Promise.resolve();
  #dead = false;

  constructor(run: KeptRun, options: ExecutionOptions) {
    this.#run = run;
    this.#options = options;
    this.begun = this.#begun.promise;
    const former = run.execution;
    run.execution = this;
    this.ended = outsidePlaces(() => this.#execute(former));
    this.ended.catch(() => undefined);
  }

  async #execute(former: Execution | null): Promise<ExecuteResult | null> {
    await former?.lose();
    const worker = await testWorker();
    const leased = await this.#run.lease();
    const channel = worker.reporter.open(leased, {
      onLogsSent: () => undefined,
      onLost: () => this.#died.reject(new Error("The lease is lost.")),
      onWorkspaceLost: () => this.#died.reject(new Error("The workspace is lost.")),
      onRefused: (kind, reason) => this.#died.reject(new Error(`The server refused ${kind}: ${reason}`)),
      onClosed: () => this.#closed.resolve(),
    });
    this.#channel = channel;
    worker.holders.set(leased.lease_id, {
      settled: (waits) => this.#settled(waits),
      interrupted: (messageId) => {
        if (!this.#dead) this.#inPlace(() => this.#port?.interrupted(messageId));
      },
      cancelled: () => this.#abort.abort(stopReason("cancelled")),
      stop: () => {
        this.#parking.end();
        this.#abort.abort(stopReason("stopped"));
        this.#die();
      },
    });
    if (leased.run.workspace_id !== null) await worker.workspaces.attach(leased);
    channel.start(REPORTED_AT);
    try {
      return await this.#inProcess(worker, leased, channel);
    } finally {
      this.#parking.end();
      this.#place?.end();
      worker.gone(leased.lease_id);
    }
  }

  async #inProcess(
    worker: TestWorker,
    leased: LeasedExecution,
    channel: LeaseChannel,
  ): Promise<ExecuteResult | null> {
    this.#place = this.#options.isTimeVirtual === true ? worker.timers.place() : null;
    const executing = this.#inPlace(() => keelson.execute(this.#input(worker, structuredClone(leased))));
    this.#begun.resolve();
    const result = await Promise.race([executing, this.#died.promise]);
    this.result = result;
    const isEnd = result !== null && result.outcome !== "suspended";
    const hasDied = result === null || (isEnd && this.#options.dieAt === "end");
    this.#dead ||= hasDied;
    if (hasDied && this.#options.isMachineLost === true) channel.drop();
    else this.#release(channel, hasDied ? KILLED : { kind: "result", result });
    await this.#closed.promise;
    return hasDied ? null : result;
  }

  #release(channel: LeaseChannel, ending: RunEnding): void {
    const isCancelled = (this.#abort.signal.reason as Error | undefined)?.name === "CancelledError";
    const stop = isCancelled ? "cancelled" : ending.kind === "died" ? "drained" : null;
    const facts = { maxDurationMs: null, memoryMb: null, parked: this.#parking.parked, exclusive: false };
    const release: Release = decideRelease(ending, stop, facts);
    if (release.outcome === "suspended") channel.checkpointReady(REPORTED_AT);
    channel.release(release, REPORTED_AT);
    this.#run.isDelayed = release.outcome === "failed";
  }

  /** Its process is killed. Resolves when the worker has told the server, or nobody will. */
  async lose(): Promise<void> {
    this.#die();
    await this.ended;
  }

  #die(): void {
    this.#dead = true;
    this.#died.resolve(null);
    for (const told of this.#onAnswer.splice(0)) told();
  }

  /** Asks whether the process can end. */
  suspend(): boolean {
    this.#isSuspending = false;
    this.#parking.suspend();
    return this.#isSuspending;
  }

  #ask(): void {
    this.#isSuspending = this.#inPlace(() => this.#port?.suspend() === true);
    if (this.#isSuspending) return;
    this.#parking.refused();
    this.#parking.end();
  }

  /** As the agent does when the run's time is over. */
  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Its process is stopped for so long: each of its timers that come due goes off once then. */
  sleep(ms: number): void {
    this.#place?.sleep(ms);
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get isParked(): boolean {
    return this.#parking.parked && !this.#dead;
  }

  /** Resolves when the run is parked, and its process knows it: each time once. */
  async parked(): Promise<void> {
    const ended = this.ended.then((result) => {
      throw new Error(`The execution ended and was not parked: ${JSON.stringify(result)}`);
    });
    if (this.#parks === this.#parksSeen)
      await Promise.race([ended, new Promise<void>((told) => this.#onParked.push(told))]);
    ended.catch(() => undefined);
    this.#parksSeen = this.#parks;
  }

  #wasParked(): void {
    this.#parks += 1;
    for (const told of this.#onParked.splice(0)) told();
  }

  /** Durable calls so far. */
  get callCount(): number {
    return this.#calls;
  }

  /** Timers that its code has set so far. */
  get timerCount(): number {
    return this.#place?.set ?? 0;
  }

  /** Resolves when each call so far is answered. */
  async answered(): Promise<void> {
    while (this.#open > 0 && !this.#dead) await new Promise<void>((told) => this.#onAnswer.push(told));
  }

  #inPlace<T>(work: () => T): T {
    return this.#place === null ? work() : this.#place.run(work);
  }

  #settled(waits: WaitState[]): void {
    for (const { position } of waits) this.#run.told.add(position);
    if (!this.#dead) this.#inPlace(() => this.#port?.settled(waits));
  }

  /** What the process says to its worker. */
  #receive(worker: TestWorker, message: FromHost): void {
    if (this.#dead || message[0] !== "call") return;
    const [, , id, made] = message;
    const number = this.#calls;
    this.#calls += 1;
    const { dieAt } = this.#options;
    const isLast = typeof dieAt === "object" && dieAt.call === number;
    if (isLast && !dieAt.applied) return this.#die();
    const call = JSON.parse(JSON.stringify(made)) as DurableCall;
    const answered = this.#parking.called(call);
    this.#open += 1;
    // What it would call from here on does not leave the process.
    this.#dead ||= isLast;
    outsidePlaces(() =>
      this.#channel?.call(call, REPORTED_AT, (answer) => {
        if ("result" in answer) this.#applied(worker, call, answer.result);
        const wasParked = this.#parking.parked;
        answered(answer);
        if (isLast) return this.#die();
        this.#answer(number, id, answer, this.#parking.parked && !wasParked);
      }),
    );
  }

  #applied(worker: TestWorker, call: DurableCall, result: unknown): void {
    this.#run.applied.push(call);
    if (call.kind !== "waits") return;
    for (const wait of call.waits) this.#run.ask(wait, parseDuration(wait.timeout ?? ""), worker);
    for (const { position } of (result as WaitsResult).waits) this.#run.told.add(position);
  }

  #answer(number: number, id: number, answer: CallAnswer, isParked: boolean): void {
    this.#answers = this.#answers.then(async () => {
      for (let turns = this.#options.delayOf?.(number) ?? 1; turns > 0; turns -= 1)
        await new Promise((next) => setImmediate(next));
      this.#open -= 1;
      if (!this.#dead) this.#inPlace(() => this.#port?.answer(id, answer));
      if (isParked && !this.#dead) setImmediate(() => this.#wasParked());
      for (const told of this.#onAnswer.splice(0)) told();
    });
  }

  #input(worker: TestWorker, leased: LeasedExecution): ExecuteInput {
    const { workspacePath = "/srv/workspace", access } = this.#options;
    const run = this.#run;
    const channel = this.#channel as LeaseChannel;
    const alive =
      <A extends unknown[]>(act: (...args: A) => void) =>
      (...args: A): void => {
        if (!this.#dead) outsidePlaces(() => act(...args));
      };
    const send = (message: FromHost): void => this.#receive(worker, message);
    this.#port = openDurablePort(1, { send, sendNow: send });
    const host: RuntimeHost = {
      ...this.#port.host,
      log: alive((stream, text: string) => {
        run.lines.push(text);
        channel.logs([{ stream, bytes: Buffer.from(text), at: REPORTED_AT }]);
      }),
      event: alive((event) => {
        run.events.push(event);
        channel.events([{ ...event, at: REPORTED_AT }]);
      }),
      metadata: alive((changes) => {
        run.changes.push(...changes);
        channel.metadata(changes, REPORTED_AT);
      }),
      execResult: (id) => outsidePlaces(() => worker.workspaces.result(leased, id)),
    };
    const { kind, declared_id: declaredId } = leased.entrypoint;
    const { workspace_id: workspaceId } = leased.run;
    return {
      entrypoint: { kind, declaredId },
      run: leased.run,
      workspace: workspaceId === null ? null : { id: workspaceId, path: workspacePath },
      ...(access !== null && { access: access ?? { url: worker.server.url, credential: leased.run_token } }),
      secrets: leased.secrets,
      journal: leased.journal,
      waits: leased.waits,
      session: leased.session,
      signal: this.#abort.signal,
      mayContinue: this.#options.mayContinue ?? leased.run.continuations !== undefined,
      host,
    };
  }
}
