import { availableParallelism } from "node:os";
import {
  parseDuration,
  type Cancellation,
  type DeploymentCheck,
  type DeploymentChecked,
  type Execution,
  type InterruptedMessage,
  type LeaseResponse,
  type ReportResponse,
  type Resumption,
} from "@keelson/contract";
import { TransientMap } from "@keelson/contract/transient-map";
import type { AgentOptions } from "./agent-options.ts";
import { openBundleCache, type BundleCache } from "./bundles/bundle-cache.ts";
import { createTimestamps } from "./clock.ts";
import { createLeaseAhead, type LeaseAhead } from "./executions/lease-ahead.ts";
import { checkDeployment, interruptedCheck } from "./executions/check-deployment.ts";
import type { AgentNumbers } from "./metrics/agent-counts.ts";
import { LeaseLoop } from "./executions/lease-loop.ts";
import { startRenewalLoop } from "./executions/renewal-loop.ts";
import type { ExecutionContext } from "./executions/execution-context.ts";
import { ParkedRuns } from "./executions/parked-runs.ts";
import { RunningExecution } from "./executions/running-execution.ts";
import { WaitingLine } from "./executions/waiting-line.ts";
import { pause } from "./pause.ts";
import { retryCalls } from "./protocol/retry-calls.ts";
import { ServiceError } from "./protocol/service-error.ts";
import { Reporter } from "./reporter/reporter.ts";
import { HostPool } from "./task-hosts/host-pool.ts";
import type { TaskHost } from "./task-hosts/task-host.ts";

/** Reports that are not answered any more hold no new work: past this many operations nothing is leased. */
const BACKLOG_OPERATIONS = 5_000;
/** A worker that is not heard for 15 s counts as lost, however long its leases are. */
const LONGEST_RENEW_INTERVAL_MS = 5_000;
/** How often a draining agent says what it waits for. */
const LEFT_SAID_MS = 5_000;
/** What a drained agent has for its last reports, and for its workspaces, at least; more when the drain's limit is longer. */
const SHORTEST_LAST_MS = 5_000;

/** The parts of a worker put together: leases come in, executions run, reports go out, until it is drained or stopped. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #stopped = new AbortController();
  readonly #leases = new TransientMap<string, RunningExecution>();
  readonly #running = new TransientMap<string, RunningExecution>();
  /** Those of them that only wait and need no slot. */
  readonly #parked: ParkedRuns<TaskHost>;
  /** By the id of the check. */
  readonly #checking = new Map<string, Promise<void>>();
  readonly #hosts: HostPool;
  readonly #bundles: BundleCache;
  readonly #reporter: Reporter;
  readonly #context: ExecutionContext;
  readonly #loop: LeaseLoop;
  /** Until the first answer to a lease call, and so the first lease, says it. */
  #leaseDurationMs = 6_000;
  /** Leased ahead, in order, until a slot is free: see `lease-ahead.ts`. */
  readonly #waiting: WaitingLine<RunningExecution>;
  readonly #ahead: LeaseAhead;
  #draining = false;
  #whenDone: (() => void)[] = [];
  /** Resolves when it has ended, whoever asked for it. */
  readonly ended: Promise<void>;
  #end: () => void = () => undefined;
  #drained: Promise<void> | null = null;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.#ahead = createLeaseAhead(options.clock.monotonic);
    this.#waiting = new WaitingLine(options.clock.monotonic, (execution) => {
      execution.drain();
      void execution.start();
    });
    const { client, reaper, capacity, clock, random, logger } = options;
    const { signal } = this.#stopped;
    this.#bundles = openBundleCache({
      dataDir: options.dataDir,
      uses: options.bundleUses,
      ...options.bundleBound,
      download: (digest) =>
        retryCalls(() => client.download(`bundles/${digest}`, { signal }), { random, signal, attempts: 4 }),
      clock,
      logger,
    });
    this.#hosts = new HostPool({
      capacity,
      boots: availableParallelism(),
      homes: options.hostHomes,
      environment: options.hostEnvironment,
      reaper,
      namespace: options.taskTier.namespace,
      holdBundle: (digest) => this.#bundles.hold(digest),
      monotonic: () => clock.monotonic(),
      logger,
    });
    this.#parked = new ParkedRuns(capacity, (host) => this.#hosts.demandFor(host));
    this.#reporter = new Reporter({
      send: (body) => client.post<ReportResponse>("executions/report", body, { signal }),
      timestamp: () => this.#context.timestamp(),
      monotonic: () => clock.monotonic(),
      random,
      logger,
      signal,
      // A long backlog holds all slots, also those of runs that have ended: nothing else would end then and tell.
      onDelivered: () => this.#wakeIfFree(),
    });
    this.#context = {
      serverUrl: options.url,
      bundles: this.#bundles,
      hosts: this.#hosts,
      users: options.taskUsers,
      tier: options.taskTier,
      dataDir: options.dataDir,
      reporter: this.#reporter,
      workspaces: { client, random, loop: options.workspaces },
      timestamp: createTimestamps(clock),
      monotonic: () => clock.monotonic(),
      logger,
      stopGraceMs: options.stopGraceMs,
      maxLogBytes: options.maxLogBytes,
      onParked: (execution, host) => this.#onParked(execution, host),
      onUnparked: ({ channel }) => this.#parked.delete(channel.leaseId),
      onEnded: (execution) => this.#onEnded(execution),
      onClosed: (execution) => this.#onClosed(execution),
    };
    this.#loop = new LeaseLoop({
      ...{ client, capacity, random, logger },
      freeSlots: () => this.#freeSlots(),
      heldChecks: () => [...this.#checking.keys()],
      receive: (response) => this.#receive(response),
      counts: options.counts.leasePolls,
    });
    this.#startRenewal();
  }

  /** Leases nothing more, lets runs finish up to the drain timeout, hands the rest back, commits workspaces, and ends. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  /** Kills every task host and ends at once; leases that are left run out by themselves. */
  async stop(): Promise<void> {
    this.#draining = true;
    this.#stopped.abort();
    this.#waiting.close();
    const loop = this.#loop.abandon();
    await Promise.all([this.#hosts.close(), this.#options.workspaces?.stop()]);
    await this.#bundles.close();
    this.#options.client.close();
    this.#options.reaper.close();
    await loop;
    this.#end();
  }

  workerId(): string {
    return this.#options.client.workerId();
  }

  /** What it has just now. */
  numbers(): AgentNumbers {
    return {
      runs: this.#running.size,
      parked: this.#parked.size,
      capacity: this.#options.capacity,
      taskHosts: this.#hosts.counts(),
      reportsPending: this.#reporter.backlog(),
      workspaces: this.#options.workspaces?.inUse() ?? 0,
      draining: this.#draining,
    };
  }

  /** An operator or a scaler wants this worker gone; the server said so. */
  #drainedFromOutside(): void {
    if (this.#draining) return;
    this.#options.logger.info({}, "the server drains this worker");
    this.drain().catch((err: unknown) => this.#options.logger.error({ err }, "the drain failed"));
  }

  async #drain(): Promise<void> {
    const { client, drainTimeoutMs, random, logger } = this.#options;
    this.#draining = true;
    logger.info({ running: this.#running.size }, "draining");
    const { signal } = this.#stopped;
    const told = retryCalls(() => client.post("drain", "{}", { signal }), {
      random,
      signal,
      attempts: 3,
    }).catch((err: unknown) => logger.warn({ err }, "the server could not be told of the drain"));
    const stopped = this.#loop.drain(told);
    this.#hosts.beginNoMore();
    for (const execution of this.#running.values()) execution.drainUnlessBegun();
    this.#parked.keepNone();
    this.#startWaiting();
    const timeout = setTimeout(() => this.#handBack(), drainTimeoutMs);
    const saying = setInterval(() => this.#sayWhatIsLeft(), LEFT_SAID_MS);
    await stopped;
    await this.#noneRunning();
    clearTimeout(timeout);
    await told;
    const letGo = await this.#letGoOfWorkspaces();
    clearInterval(saying);
    const isTold = await this.#tellTheLast();
    // With nothing left of it, the next process is a worker of its own. One that was stopped meanwhile has left its folders
    // to that process.
    if (letGo && isTold && !this.#stopped.signal.aborted) await client.forget();
    await this.stop();
    logger.info({}, "drained");
  }

  /** After the runs, which may use them. False when they could not be let go in time: the next process may. */
  async #letGoOfWorkspaces(): Promise<boolean> {
    const { workspaces, logger } = this.#options;
    if (workspaces === null) return true;
    // What could not be committed is kept for the next process.
    const letGo = await this.#inTime(workspaces.drain().then(() => workspaces.held().length === 0));
    if (!letGo)
      logger.error(
        { workspaces: workspaces.held() },
        "workspaces could not be committed before the agent ends",
      );
    return letGo;
  }

  /** Insists on telling how runs and checks ended. False when that was given up: what ended here may be done again elsewhere. */
  async #tellTheLast(): Promise<boolean> {
    const telling = [this.#reporter.idle(), ...this.#checking.values()];
    if (await this.#inTime(Promise.all(telling).then(() => true))) return true;
    const runs = [...this.#leases.values()].map(({ execution }) => execution.run.id);
    const given = { runs, operations: this.#reporter.backlog(), checks: [...this.#checking.keys()] };
    this.#options.logger.error(given, "the server did not answer the last reports; they are given up");
    return false;
  }

  async #inTime(done: Promise<boolean>): Promise<boolean> {
    const late = new AbortController();
    const limitMs = Math.max(this.#options.drainTimeoutMs, SHORTEST_LAST_MS);
    const isDone = await Promise.race([done, pause(limitMs, late.signal).then(() => false)]);
    late.abort();
    return isDone;
  }

  #sayWhatIsLeft(): void {
    const { workspaces, logger } = this.#options;
    const runs = [...this.#running.values()].map(({ execution }) => execution.run.id);
    logger.warn({ runs, workspaces: workspaces?.held() ?? [] }, "still ending what runs here");
  }

  #handBack(): void {
    const runs = [...this.#running.values()].map(({ execution }) => execution.run.id);
    this.#options.logger.warn({ runs }, "the drain timeout is over; handing the running runs back");
    for (const execution of this.#running.values()) execution.drain();
  }

  #noneRunning(): Promise<void> {
    return this.#running.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#whenDone.push(resolve));
  }

  #startRenewal(): void {
    const { client, clock, logger } = this.#options;
    const { signal } = this.#stopped;
    startRenewalLoop({
      client,
      clock,
      logger,
      signal,
      intervalMs: () =>
        this.#options.renewIntervalMs ?? Math.min(LONGEST_RENEW_INTERVAL_MS, this.#leaseDurationMs / 3),
      leaseDurationMs: () => this.#leaseDurationMs,
      leases: () => this.#leases.values(),
      find: (leaseId) => this.#leases.get(leaseId),
      cancel: (cancellations) => this.#cancel(cancellations),
      resume: (resumptions) => this.#resume(resumptions),
      interrupt: (interrupts) => this.#interrupt(interrupts),
      drain: () => this.#drainedFromOutside(),
      heldSecrets: () => this.#hosts.heldSecrets(),
      supersede: (versions) => this.#hosts.supersede(versions),
      inUse: () => ({
        executions: this.#running.size - this.#parked.size,
        workspaces: this.#options.workspaces?.inUse() ?? 0,
      }),
    });
  }

  #freeSlots(): number {
    if (this.#reporter.backlog() > BACKLOG_OPERATIONS) return 0;
    return Math.max(0, this.#options.capacity + this.#ahead.slots() + this.#parked.size - this.#running.size);
  }

  #wakeIfFree(): void {
    if (this.#freeSlots() > 0) this.#loop.wake();
  }

  #receive(response: LeaseResponse): void {
    this.#leaseDurationMs = parseDuration(response.lease_duration) ?? this.#leaseDurationMs;
    if (response.draining) this.#drainedFromOutside();
    for (const execution of response.executions) this.#accept(execution);
    this.#cancel(response.cancellations);
    this.#resume(response.resumptions);
    this.#interrupt(response.interrupts);
    for (const check of response.deployment_checks) this.#startCheck(check);
  }

  #accept(execution: Execution): void {
    if (this.#leases.has(execution.lease_id)) return;
    const running = new RunningExecution(execution, this.#context);
    this.#leases.set(execution.lease_id, running);
    this.#running.set(execution.lease_id, running);
    if (this.#draining) running.drain();
    this.#waiting.push(running);
    this.#startWaiting();
  }

  /** Starts what was leased ahead as far as there are slots; while draining all of it, to be handed back. */
  #startWaiting(): void {
    const busy = (): number => this.#running.size - this.#parked.size - this.#waiting.size;
    while (this.#waiting.size > 0 && (this.#draining || busy() < this.#options.capacity)) {
      void this.#waiting.shift()?.start();
    }
  }

  /** Its slot is free. */
  #onParked(execution: RunningExecution, host: TaskHost): void {
    this.#parked.add({ leaseId: execution.channel.leaseId, host, suspend: () => execution.suspend() });
    this.#startWaiting();
    this.#loop.wake();
  }

  #onEnded(execution: RunningExecution): void {
    this.#running.delete(execution.channel.leaseId);
    this.#parked.delete(execution.channel.leaseId);
    this.#ahead.ended();
    this.#startWaiting();
    this.#loop.wake();
    if (this.#running.size === 0) for (const resolve of this.#whenDone.splice(0)) resolve();
  }

  #onClosed({ channel }: RunningExecution): void {
    if (this.#leases.delete(channel.leaseId)) this.#options.counts.attemptsEnded[channel.outcome()] += 1;
  }

  #cancel(cancellations: Cancellation[]): void {
    for (const { lease_id: leaseId, epoch } of cancellations) {
      const execution = this.#leases.get(leaseId);
      if (execution?.execution.epoch === epoch) execution.cancel();
    }
  }

  #resume(resumptions: Resumption[]): void {
    for (const { lease_id: leaseId, epoch, waits } of resumptions) {
      const execution = this.#leases.get(leaseId);
      if (execution?.execution.epoch === epoch) execution.resume(waits);
    }
  }

  #interrupt(interrupts: InterruptedMessage[]): void {
    for (const { lease_id: leaseId, epoch, message_id: messageId } of interrupts) {
      const execution = this.#leases.get(leaseId);
      if (execution?.execution.epoch === epoch) execution.interrupt(messageId);
    }
  }

  /** Repeated offers of a check that is under way are ignored. */
  #startCheck(check: DeploymentCheck): void {
    const { check_id: id } = check;
    if (this.#checking.has(id)) return;
    this.#checking.set(
      id,
      this.#check(check).finally(() => this.#checking.delete(id)),
    );
  }

  async #check(check: DeploymentCheck): Promise<void> {
    const { client, random, logger } = this.#options;
    const { signal } = this.#stopped;
    const tell = (answer: DeploymentChecked): Promise<unknown> =>
      retryCalls(() => client.post("deployments/checked", JSON.stringify(answer), { signal }), {
        random,
        signal,
      });
    try {
      await tell(
        this.#draining
          ? interruptedCheck(check, "The worker is drained.")
          : await checkDeployment(check, this.#hosts, this.#context),
      );
    } catch (err) {
      logger.warn({ err, deploymentId: check.deployment_id }, "a deployment could not be checked here");
      if (signal.aborted || (err instanceof ServiceError && err.code === "invalid_state")) return;
      // It is not offered here again at once.
      const reason = `The server did not take the worker's answer: ${(err as Error).message}`;
      await tell(interruptedCheck(check, reason)).catch(() => undefined);
    }
  }
}
