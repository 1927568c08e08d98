// A worker in the test's process, of a real server whose time the test moves.

import assert from "node:assert/strict";
import { after } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  Execution as LeasedExecution,
  RenewResponse,
  ReportResponse,
  WaitState,
} from "@keelson/contract";
import { keelson } from "@keelson/sdk/runtime";
import { toServiceError } from "../../../agent/src/protocol/service-error.ts";
import { Reporter } from "../../../agent/src/reporter/reporter.ts";
import { WAKE_CHANNEL } from "../../../server/src/core/feeds/wake-notifier.ts";
import { wakeKeys } from "../../../server/src/core/feeds/wake-keys.ts";
import { sql } from "../../../server/src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";
import { createDeployment, promote } from "../../../server/test/support/deploy.ts";
import {
  enrollWorker,
  heldLease,
  type HeldLease,
  type RawWorker,
} from "../../../server/test/support/raw-worker.ts";
import { until } from "../../../server/test/support/until.ts";
import { TestWorkspaces } from "./test-workspaces.ts";
import { outsidePlaces, VirtualClock } from "./virtual-clock.ts";

const LEASE_MS = 45 * 60_000;
/** How much time passes at once: leases are renewed in time then, and the worker's token, which is good for an hour. */
export const STEP_MS = 20 * 60_000;
/** After so many steps a lease that is not renewed is over, as its worker is heard without renewing it. */
export const STEPS_OF_LOSS = 6;
/** Of so many reports, one reaches the server twice, as when its first answer was lost. */
const REPEATED_REPORT = 4;
/**
 * A report that hands a run back: while its repeat has the run's row, an open poll does not see the run, and looks again
 * only seconds later.
 */
const HANDS_BACK = /"outcome":"(rejected|suspended)"/;
/** What the server would find due at its next look, half a second later. */
const LOOKS = ["settle-due-waits", "expire-tokens", "sweep-due", "sweep-leases"].map(
  (name) => `loop:${name}`,
);

/** Hears what the server says of a lease. */
export type LeaseHolder = {
  settled(waits: WaitState[]): void;
  interrupted(messageId: string): void;
  cancelled(): void;
  stop(): void;
};

/** What the server says of leases. */
type News = Pick<RenewResponse, "resumptions" | "interrupts" | "cancellations">;

export class TestWorker {
  readonly server: ApiServer;
  readonly timers: VirtualClock;
  readonly reporter: Reporter;
  readonly workspaces: TestWorkspaces;
  readonly holders = new Map<string, LeaseHolder>();
  readonly #raw: RawWorker;
  readonly #held = new Map<string, HeldLease>();
  readonly #stopping = new AbortController();
  readonly #leased = new Map<string, LeasedExecution>();
  readonly #wanted = new Map<string, (execution: LeasedExecution) => void>();
  readonly #deployed = new Set<string>();
  #deploying: Promise<void> = Promise.resolve();
  #entrypoints: object[] = [];
  /** Of what the server was to do at a time, so much has come due since it was last looked for. */
  due = 0;
  #reports = 0;
  #renewal: Promise<void> = Promise.resolve();
  #nextRenewal: Promise<void> | null = null;
  #renewedAt = 0;
  #tokenAt = 0;

  constructor(server: ApiServer, raw: RawWorker, timers: VirtualClock) {
    this.server = server;
    this.#raw = raw;
    this.timers = timers;
    this.workspaces = new TestWorkspaces(raw);
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
    this.reporter = new Reporter({
      send: (body) => this.#send(body),
      timestamp: () => new Date(this.now()).toISOString(),
      monotonic: () => performance.now(),
      random: () => 0,
      logger: { ...log, error: (fields, message) => console.error(message, fields) },
      signal: this.#stopping.signal,
      onDelivered: () => undefined,
    });
    void this.#poll();
  }

  /** Makes a task or an actor of this process one that runs can be started of. */
  deploy(kind: "task" | "actor", declaredId: string): Promise<void> {
    const name = `${kind} ${declaredId}`;
    return (this.#deploying = this.#deploying.then(async () => {
      if (!this.#deployed.has(name)) await this.#deploy();
      assert.ok(this.#deployed.has(name), `There is no ${name}.`);
    }));
  }

  async #deploy(): Promise<void> {
    const { tasks, actors = [] } = keelson.manifest();
    this.#entrypoints = [
      ...tasks.map(({ id }) => ({ kind: "task", declared_id: id })),
      ...actors.map(({ id }) => ({ kind: "actor", declared_id: id })),
    ];
    const { id } = await createDeployment(this.server, { tasks, actors });
    await until("the deployment is ready", 10_000, async () => {
      const { body } = await this.server.call("GET", `/v1/deployments/${id}`);
      return body.status === "ready";
    });
    await promote(this.server, id);
    for (const one of tasks) this.#deployed.add(`task ${one.id}`);
    for (const one of actors) this.#deployed.add(`actor ${one.id}`);
  }

  /** The lease of a run, as soon as the run is ready. */
  lease(runId: string): Promise<LeasedExecution> {
    const there = this.#leased.get(runId);
    this.#leased.delete(runId);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => this.#wanted.set(runId, resolve));
  }

  /** Ends a run that was leased, as if its code had. */
  async finish(
    execution: LeasedExecution,
    { outcome, ...extra }: { outcome: string } & Record<string, unknown>,
  ): Promise<void> {
    await this.#raw.finish(this.#held.get(execution.lease_id) as HeldLease, outcome, extra);
    this.gone(execution.lease_id);
  }

  /** The lease's release is applied, or nothing of the lease is told any more. */
  gone(leaseId: string): void {
    this.#held.delete(leaseId);
    this.holders.delete(leaseId);
  }

  /** Lets time pass, and all happen at the server that is due by then. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      this.timers.advanceTo(this.timers.now + Math.min(left, STEP_MS));
      await this.lookForDue();
    }
  }

  /** The server does what is due, and those who hold leases hear of it. */
  async lookForDue(): Promise<void> {
    this.due = 0;
    const { db } = this.server;
    const keys = [wakeKeys.timers, ...LOOKS].join(" ");
    await db.query(sql`SELECT pg_notify(${WAKE_CHANNEL}, ${`test ${keys}`})`);
    const now = new Date(this.now()).toISOString();
    for (;;) {
      const [row] = await db.query<{ left: boolean }>(sql`
        SELECT EXISTS (SELECT FROM run_waits WHERE status = 'pending' AND timeout_at <= ${now})
          OR EXISTS (SELECT FROM tokens WHERE status = 'pending' AND timeout_at <= ${now})
          OR EXISTS (SELECT FROM executions WHERE available_at <= ${now} AND status = 'retry_delayed') AS left`);
      if (row?.left !== true) break;
      await nextTurn();
    }
    await this.renew();
  }

  /** Goes on to the next thing that time brings. */
  async advance(): Promise<void> {
    const next = this.timers.next();
    assert.ok(next !== null, "Nothing goes on, however much time passes.");
    assert.ok(next - this.timers.now <= STEP_MS);
    this.timers.advance();
    if (this.due > 0) await this.lookForDue();
    else if (this.timers.now - this.#renewedAt >= STEP_MS) await this.renew();
  }

  /** Renews all leases, and hears what has happened to their runs until now. Those who ask meanwhile share the next call. */
  renew(): Promise<void> {
    this.#nextRenewal ??= this.#renewal.then(() => {
      this.#nextRenewal = null;
      return (this.#renewal = this.#renew());
    });
    return this.#nextRenewal;
  }

  async #renew(): Promise<void> {
    this.#renewedAt = this.timers.now;
    if (this.timers.now - this.#tokenAt >= STEP_MS) {
      this.#tokenAt = this.timers.now;
      await this.#raw.renewToken();
      await this.#raw.call("POST", "/heartbeat", {});
    }
    this.#hear(await this.#raw.renew(...this.#held.values()));
  }

  /** What time it is at the server. */
  now(): number {
    return EPOCH + this.timers.now;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const holder of this.holders.values()) holder.stop();
    await this.server.stop();
  }

  async #send(body: string): Promise<ReportResponse> {
    this.#reports += 1;
    const isRepeated = this.#reports % REPEATED_REPORT === 0 && !HANDS_BACK.test(body);
    if (isRepeated) await this.#sendOnce(body);
    return this.#sendOnce(body);
  }

  async #sendOnce(body: string): Promise<ReportResponse> {
    const answer = await outsidePlaces(() =>
      this.server.call("POST", "/worker/v1/executions/report", {
        as: this.#raw.token,
        bytes: Buffer.from(body),
        headers: { "content-type": "application/json" },
      }),
    );
    if (answer.status === 200) return answer.body as ReportResponse;
    throw toServiceError(answer.status, answer.text, undefined);
  }

  /** As an agent does: one poll is always open. */
  async #poll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const answer = await this.#raw.lease({ limit: 100, wait: "20s" });
        for (const execution of answer.executions as LeasedExecution[]) this.#take(execution);
        this.#hear(answer);
        for (const { deployment_id, check_id } of answer.deployment_checks) {
          const body = { deployment_id, check_id, status: "ready", entrypoints: this.#entrypoints };
          const checked = await this.#raw.call("POST", "/deployments/checked", body);
          assert.equal(checked.status, 200, checked.text);
        }
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        throw error;
      }
    }
  }

  #take(execution: LeasedExecution): void {
    this.#held.set(execution.lease_id, heldLease(execution));
    const { id } = execution.run;
    const wanted = this.#wanted.get(id);
    this.#wanted.delete(id);
    if (wanted === undefined) this.#leased.set(id, execution);
    else wanted(execution);
  }

  #hear({ resumptions, interrupts, cancellations }: News): void {
    for (const { lease_id, waits } of resumptions) this.holders.get(lease_id)?.settled(waits);
    for (const { lease_id, message_id } of interrupts) this.holders.get(lease_id)?.interrupted(message_id);
    for (const { lease_id } of cancellations) this.holders.get(lease_id)?.cancelled();
  }
}

const EPOCH = Date.now();

let started: Promise<TestWorker> | undefined;
after(async () => (await started)?.stop());

/** The worker of this test file, whose server is started when it is first asked for. */
export function testWorker(): Promise<TestWorker> {
  return outsidePlaces(() => (started ??= start()));
}

async function start(): Promise<TestWorker> {
  const timers = new VirtualClock();
  const clock = (): number => EPOCH + timers.now;
  const server = await startApiServer({ clock, config: { leaseDurationMs: LEASE_MS } });
  const worker = new TestWorker(server, await enrollWorker(server, { workspaces: 100 }), timers);
  await worker.workspaces.begin();
  return worker;
}
