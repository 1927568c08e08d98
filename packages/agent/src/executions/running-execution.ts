import {
  isBundleFormatVersion,
  LIMITS,
  parseDuration,
  type DurableCall,
  type Execution,
  type OperationKind,
  type WaitState,
} from "@keelson/contract";
import type { CallAnswer, HostEvent, RunInput } from "../host/frames.ts";
import { leavesCode } from "../host/leaves-code.ts";
import type { LeaseChannel } from "../reporter/lease-channel.ts";
import type { HostSpec } from "../task-hosts/host-key.ts";
import type { HostRun, RunEnding, RunSink, WaitingRun } from "../task-hosts/host-run.ts";
import { projectStack, withoutRoot } from "./project-stack.ts";
import { bootWhole, completeHostSpec, whileHeld } from "./complete-host-spec.ts";
import type { AskedHostSpec } from "./complete-host-spec.ts";
import { unknownFormat } from "./unknown-format.ts";
import { Deadline } from "./deadline.ts";
import type { ExecutionContext } from "./execution-context.ts";
import {
  CANCELLED,
  cleanText,
  decideBoot,
  decidePreparation,
  decideRelease,
  failed,
  handedBack,
  REJECTED,
  type Release,
  type Stop,
} from "./decide-release.ts";
import { Parking } from "./parking.ts";
import { RunOutput } from "./run-output.ts";
import { LEASE_LOST, RunWorkspace } from "./run-workspace.ts";

/** How long code may go on after its deadline. */
const DEADLINE_GRACE_MS = 1_000;
const EVENT_MESSAGE_CHARACTERS = 4096;

/**
 * One leased attempt on this worker: its bundle is fetched, a host found, the code run, its effects reported, the
 * lease released. It ends once, by whichever comes first of its result, its process's death, its deadline, a
 * cancellation, a drain, or the loss of its lease; after a loss nothing more is reported. While it is parked its deadline
 * stands still, and after a while its process is ended to go on elsewhere.
 */
export class RunningExecution {
  readonly execution: Execution;
  readonly channel: LeaseChannel;
  readonly #context: ExecutionContext;
  readonly #output: RunOutput;
  /** Where its bundle's files are, as soon as they are there. */
  #bundleRoot: string | null = null;
  readonly #maxDurationMs: number | null;
  readonly #halted = Promise.withResolvers<null>();
  #stop: Stop = null;
  #released = false;
  #started = false;
  #refusals = 0;
  /** Given to the processes, and not begun by them. */
  #waiting: WaitingRun | null = null;
  /** When the run before it in its process had ended. */
  #nextSince: string | null = null;
  #run: HostRun | null = null;
  readonly #workspace: RunWorkspace;
  readonly #parking: Parking;
  readonly #deadline: Deadline;
  /** Settled waits that came before the process was there. */
  #settledEarly: WaitState[] = [];
  #grace: NodeJS.Timeout | undefined;

  constructor(execution: Execution, context: ExecutionContext) {
    this.execution = execution;
    this.#context = context;
    const { max_duration: maxDuration } = execution.entrypoint;
    this.#maxDurationMs = maxDuration === null ? null : parseDuration(maxDuration);
    this.#deadline = new Deadline({
      limitMs: this.#maxDurationMs,
      usedMs: parseDuration(execution.active) ?? 0,
      monotonic: () => context.monotonic(),
      onOver: () => this.#halt("timed_out", DEADLINE_GRACE_MS),
    });
    this.#parking = new Parking({
      parkAfterMs: parseDuration(execution.park_after) ?? 0,
      onParked: () => {
        this.#deadline.pause();
        if (this.#run !== null) context.onParked(this, this.#run.host);
      },
      onUnparked: () => {
        this.#deadline.run();
        context.onUnparked(this);
      },
      ask: () => this.#run?.host.tell(["suspend", this.#run.n]),
    });
    this.channel = context.reporter.open(execution, {
      onLogsSent: () => this.#output.pace(),
      onLost: () => this.lose(),
      // Its code has nothing to finish there.
      onWorkspaceLost: () => this.#halt("workspace_gone", 0),
      onRefused: (kind, reason) => this.#refused(kind, reason),
      onClosed: () => context.onClosed(this),
    });
    this.#workspace = new RunWorkspace(execution, this.channel.leaseText, context.workspaces);
    this.#output = new RunOutput({
      ...{ execution, context, channel: this.channel },
      setPaused: (paused) => this.#run?.host.setPaused(this.#run.n, paused),
    });
  }

  async start(): Promise<void> {
    try {
      await this.#execute();
    } catch (err) {
      // Nothing in there is expected to throw: what does is ours, and another worker may do better.
      this.#context.logger.error({ err, runId: this.execution.run.id }, "an execution broke in the agent");
      this.#run?.host.kill("stopped");
      this.#release(handedBack("The worker could not run it: see the error in its agent's log."));
    } finally {
      this.#workspace.end();
      this.#context.onEnded(this);
    }
  }

  /** The run's caller asked for its end. */
  cancel(): void {
    this.#halt("cancelled", this.#context.stopGraceMs);
  }

  /** Waits of the run have settled. Told again until its journal has them. */
  resume(waits: WaitState[]): void {
    if (this.#run === null) this.#settledEarly.push(...waits);
    else this.#run.host.tell(["settled", this.#run.n, waits]);
  }

  /** The code is to end a message. Told again until it has ended, so what comes before the process is there is not kept. */
  interrupt(messageId: string): void {
    this.#run?.host.tell(["interrupt", this.#run.n, messageId]);
  }

  /** Ends the process if the run only waits; it goes on elsewhere. */
  suspend(): void {
    this.#parking.suspend();
  }

  /** The agent is going away: what has not ended by itself is handed back. */
  drain(): void {
    this.#halt("drained", DEADLINE_GRACE_MS);
  }

  /** The same for what has not begun, which goes back without a trace. Code that has begun goes on. */
  drainUnlessBegun(): void {
    this.#withdraw();
    if (!this.#started) this.drain();
  }

  /** The lease is no longer ours: the code must stop and nothing more may be said for it. */
  lose(): void {
    this.channel.drop();
    this.#workspace.end();
    this.#output.discard();
    this.#withdraw();
    this.#halted.resolve(null);
    if (this.#run !== null && !this.#released) {
      const { host, n } = this.#run;
      host.tell(["stop", n, "stopped"]);
      host.abandon(n, "stopped");
    }
  }

  #halt(stop: Exclude<Stop, null>, graceMs: number): void {
    // A drain overrides nothing; a cancellation or deadline is not undone by what comes later. What was told in time counts.
    if (this.#released || this.#stop !== null || (stop === "timed_out" && this.#hasTold())) return;
    this.#stop = stop;
    this.#withdraw();
    this.#halted.resolve(null);
    if (this.#run === null) return;
    const { host, n } = this.#run;
    const cause = stop === "cancelled" || stop === "timed_out" ? stop : "stopped";
    host.tell(["stop", n, cause]);
    this.#grace = setTimeout(() => host.abandon(n, cause), graceMs);
  }

  #hasTold(): boolean {
    return this.#run?.host.hasTold(this.#run.n) === true;
  }

  /** It is not to begin any more; if it has begun meanwhile, that is known when this returns. */
  #withdraw(): void {
    if (this.#waiting !== null) this.#context.hosts.withdraw(this.#waiting);
    this.#waiting = null;
  }

  async #execute(): Promise<void> {
    const run = await this.#prepare();
    if (run === null) return;
    const { host } = run;
    const ending = await run.ended;
    this.#deadline.pause();
    this.#parking.end();
    clearTimeout(this.#grace);
    const codeLeft =
      this.#stop !== null || this.channel.dropped || (ending.kind === "result" && leavesCode(ending.result));
    // A process that may still carry work of that run gets no other.
    if (host.spec.mode === "exclusive" && codeLeft) host.retire();
    this.#context.hosts.release(host);
    this.#release(await this.#workspace.committed(this.#decide(ending)));
  }

  #toWaitingRun(): WaitingRun {
    const sink: RunSink = {
      output: (stream, bytes) => this.#output.write(stream, bytes),
      event: (event) => this.#event(event),
      metadata: (changes) => {
        this.#output.flush();
        for (let at = 0; at < changes.length; at += 100)
          this.channel.metadata(changes.slice(at, at + 100), this.#context.timestamp());
      },
      call: (id, call) => this.#call(id, call),
      awake: () => this.#parking.refused(),
      execResult: (id, execId) => void this.#answer(id, this.#workspace.result(execId)),
      file: (id, call) => void this.#answer(id, this.#workspace.file(call)),
    };
    return {
      ...{ id: this.execution.lease_id, sink, input: this.#input() },
      comesNext: () => (this.#nextSince = this.#context.timestamp()),
      returned: () => (this.#nextSince = null),
      begun: (run) => this.#begun(run),
    };
  }

  #input(): RunInput {
    const { entrypoint, run, secrets, journal, waits, session } = this.execution;
    return {
      ...{ run, secrets, journal, waits, session, workspace: this.#workspace.place },
      entrypoint: { kind: entrypoint.kind, declaredId: entrypoint.declared_id },
      access: { url: this.#context.serverUrl, credential: this.execution.run_token },
      // A server of before says nothing of continuations, and would refuse one.
      mayContinue: run.continuations !== undefined,
    };
  }

  #begun(run: HostRun): void {
    this.#waiting = null;
    this.#run = run;
    this.#started = true;
    this.channel.start(this.#nextSince ?? this.#context.timestamp());
    void this.#workspace.gone.then(() => this.#halt("workspace_gone", DEADLINE_GRACE_MS));
    if (this.#settledEarly.length > 0) this.resume(this.#settledEarly.splice(0));
    this.#deadline.run();
  }

  async #answer(id: number, answering: Promise<CallAnswer | null>): Promise<void> {
    const answer = await answering;
    if (answer !== null) this.#tell(id, answer);
  }

  #tell(id: number, answer: CallAnswer): void {
    this.#run?.host.tell(["answer", this.#run.n, id, answer]);
  }

  #call(id: number, call: DurableCall): void {
    const answered = this.#parking.called(call);
    this.#output.flush();
    this.channel.call(this.#redactErrors(call), this.#context.timestamp(), (answer) => {
      this.#tell(id, answer);
      // It may be asked to suspend itself, which it can once it knows that it is parked.
      answered(answer);
    });
  }

  /** A journal keeps errors of steps, whose messages say what a failure's say. Results are the run's own to answer for. */
  #redactErrors(call: DurableCall): DurableCall {
    if (call.kind !== "steps") return call;
    const entries = call.entries.map((entry) =>
      entry.error ? { ...entry, error: this.#redactError(entry.error) } : entry,
    );
    return { ...call, entries };
  }

  /** Fetches the bundle and begins in a host; ends the execution and gives null when that fails or a stop comes first. */
  async #prepare(): Promise<HostRun | null> {
    const { bundle_format_version: format, bundle_digest: digest, entrypoint, run } = this.execution;
    if (!isBundleFormatVersion(format)) {
      this.#release(failed("bundle_error", unknownFormat(format), null, false));
      return null;
    }
    if (!(await this.#attach())) return null;
    const { environment_id: environmentId } = run;
    const { secret_versions: secrets } = this.execution;
    const { execution: mode, memory_mb: memoryMb, isolation = "process", folders = [] } = entrypoint;
    const spec = { environmentId, secrets, digest, format, mode, memoryMb, isolation, folders };
    const beginning = whileHeld(spec, this.#context, () => this.#begin(spec));
    await Promise.race([beginning, this.#halted.promise]);
    if (this.#run === null && this.#stop !== null)
      this.#release(this.#stop === "cancelled" ? CANCELLED : REJECTED);
    return this.#run;
  }

  /** Puts the run's workspace here; ends the execution and gives false when that fails or a stop comes first. */
  async #attach(): Promise<boolean> {
    const problem = await Promise.race([this.#stop ? null : this.#workspace.attach(), this.#halted.promise]);
    if (problem === LEASE_LOST) this.lose();
    else if (problem !== null) this.#release(problem);
    else if (this.#stop !== null) this.#release(this.#stop === "cancelled" ? CANCELLED : REJECTED);
    return problem === null && this.#stop === null && !this.channel.dropped;
  }

  async #begin(spec: AskedHostSpec): Promise<void> {
    let complete: HostSpec;
    try {
      complete = await completeHostSpec(spec, this.#workspace.user, this.#context);
    } catch (err) {
      this.#context.logger.warn(
        { err, runId: this.execution.run.id },
        "a run does not begin here: its process could not be prepared",
      );
      this.#release(decidePreparation(err));
      return;
    }
    this.#bundleRoot = complete.bundleRoot;
    try {
      const { hosts } = this.#context;
      await bootWhole(complete, this.#context, async (whole) => {
        if (this.#stop !== null || this.channel.dropped) return;
        this.#waiting = this.#toWaitingRun();
        await hosts.begin(whole, this.#waiting);
      });
    } catch (error) {
      this.#release(decideBoot(error, spec.memoryMb));
    }
  }

  #decide(ending: RunEnding): Release {
    return decideRelease(ending, this.#stop, {
      maxDurationMs: this.#maxDurationMs,
      memoryMb: this.execution.entrypoint.memory_mb,
      parked: this.#parking.parked,
      exclusive: this.execution.entrypoint.execution === "exclusive",
    });
  }

  #release(release: Release): void {
    if (this.#released) return;
    this.#released = true;
    this.#output.end();
    const at = this.#context.timestamp();
    if (release.outcome === "suspended") this.channel.checkpointReady(at);
    this.channel.release(this.#redactFailure(release), at);
  }

  /** An error's message often says what was used. An output is the run's own to answer for. */
  #redactFailure(release: Release): Release {
    return release.failure === null ? release : { ...release, failure: this.#redactError(release.failure) };
  }

  #redactError<E extends { message: string; stack: string | null }>(error: E): E {
    const { message, stack } = error;
    // What takes a value's place may be longer than it.
    const redact = (text: string): string => cleanText(this.#output.redactor.text(text));
    const root = this.#bundleRoot;
    if (root === null) return { ...error, message: redact(message), stack: stack && redact(stack) };
    const shown = stack && redact(projectStack(stack, root));
    return { ...error, message: redact(withoutRoot(message, root)), stack: shown };
  }

  #event(event: HostEvent): void {
    this.#output.flush();
    const { kind, severity } = event;
    const attributes = this.#output.redactor.json(event.attributes);
    const message = this.#output.redactor.text(event.message).slice(0, EVENT_MESSAGE_CHARACTERS);
    this.channel.events([
      {
        kind,
        message,
        at: this.#context.timestamp(),
        ...(severity && { severity }),
        ...(attributes && { attributes }),
      },
    ]);
  }

  /** The server would not take an operation: a run whose record cannot be kept fails, saying why. */
  #refused(kind: OperationKind, reason: string): void {
    if (this.#refusals > 0) return this.channel.drop();
    this.#refusals += 1;
    this.#output.discard();
    this.#released = true;
    this.channel.release(
      failed(
        "application_error",
        `The server refused the run's ${kind} (limit ${LIMITS.outputBytes} bytes for an output): ${reason}`,
        null,
        false,
      ),
      this.#context.timestamp(),
    );
    this.#run?.host.abandon(this.#run.n, "stopped");
  }
}
