// The way from the workers of a test to the server: a proxy that fails on demand and tells what goes by.

import assert from "node:assert/strict";
import type { DeploymentChecked, LeaseResponse, Operation, OperationResult } from "@keelson/contract";
import {
  startFaultProxy,
  type Fate,
  type FaultProxy,
  type Seen,
} from "../../../server/test/support/fault-proxy.ts";

/** The part of a path after where the routes of workers are mounted. */
const routeOf = ({ path }: Seen): string => path.replace(/^\/(worker\/v1|api\/worker)\//, "");
const bearerOf = ({ headers }: Seen): string => headers.authorization?.replace("Bearer ", "") ?? "";

const REFUSED: Fate = {
  status: 401,
  headers: { "content-type": "application/json" },
  body: Buffer.from(
    JSON.stringify({
      error: { code: "unauthenticated", message: "refused", details: null, request_id: "test" },
    }),
  ),
};

type LeaseChange = (answer: LeaseResponse) => void;

/** Whoever extends it is told what goes by. */
export abstract class WorkerDoor {
  readonly #faults: { route: string; fate: Fate; isLasting: boolean }[] = [];
  readonly #onSeen = new Set<() => void>();
  /** Ids by bearer. */
  readonly #workers = new Map<string, string>();
  readonly #silenced = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #leaseChanges: LeaseChange[] = [];
  #proxy: FaultProxy | undefined;
  #held: Promise<void> | null = null;

  /** What a worker is about to be told; it hears of what this changes. */
  protected abstract noteLeases(answer: LeaseResponse): void;
  protected abstract noteReport(operations: Operation[], results: OperationResult[]): void;
  protected abstract noteChecked(checked: DeploymentChecked): void;

  protected async open(target: string): Promise<void> {
    this.#proxy = await startFaultProxy(
      target,
      (seen) => this.#decide(seen),
      (seen, status, text) => this.#answered(seen, status, text),
    );
  }

  get #opened(): FaultProxy {
    assert.ok(this.#proxy !== undefined);
    return this.#proxy;
  }

  get url(): string {
    return this.#opened.url;
  }

  /** The next call of that route fails. */
  fail(route: string, fate: Fate): void {
    this.#faults.push({ route, fate, isLasting: false });
  }

  /** Every call of that route fails. */
  failAlways(route: string, fate: Fate): void {
    this.#faults.push({ route, fate, isLasting: true });
  }

  /** Changes what workers are told in a lease call: for what the real server would not say at this moment. */
  changeLeases(change: LeaseChange): void {
    this.#leaseChanges.push(change);
  }

  /** Answers no new call until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = null;
      resolve();
    };
  }

  /** The worker's lease calls are not answered any more, the open one neither: it gets no runs, and all else is as it was. */
  silence(workerId: string): void {
    this.#silenced.add(workerId);
    this.#opened.cut((seen) => this.#isSilenced(seen));
  }

  /** Breaks all open calls, and answers no new one until the returned function is called. */
  disconnect(): () => void {
    const reconnect = this.hold();
    this.#opened.cut();
    return reconnect;
  }

  /** The bearers so far are refused, as by a server that cannot read them; they can be renewed. */
  refuseBearers(): void {
    for (const bearer of this.#workers.keys()) this.#refused.add(bearer);
  }

  /** How many calls of that route have come. */
  countCalls(route: string): number {
    return this.#opened.seen.filter((seen) => routeOf(seen) === route).length;
  }

  /** Resolves when a call of that route comes, or has come. */
  async called(route: string): Promise<void> {
    while (this.countCalls(route) === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onSeen.add(resolve);
      await promise;
      this.#onSeen.delete(resolve);
    }
  }

  async close(): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }

  #decide(seen: Seen): Fate {
    for (const told of this.#onSeen) setImmediate(told);
    if (this.#held !== null) return { hold: this.#held };
    if (this.#isSilenced(seen)) return "swallow";
    if (this.#refused.has(bearerOf(seen)) && routeOf(seen) !== "auth/token") return REFUSED;
    const at = this.#faults.findIndex(({ route }) => route === routeOf(seen));
    const fault = this.#faults[at];
    if (fault === undefined) return "pass";
    if (!fault.isLasting) this.#faults.splice(at, 1);
    return fault.fate;
  }

  #isSilenced(seen: Seen): boolean {
    const workerId = this.#workers.get(bearerOf(seen));
    return routeOf(seen) === "executions/lease" && workerId !== undefined && this.#silenced.has(workerId);
  }

  #answered(seen: Seen, status: number, text: string): string | undefined {
    if (status !== 200) return undefined;
    const { body } = seen;
    switch (routeOf(seen)) {
      case "auth/token": {
        const { token, worker } = JSON.parse(text);
        this.#workers.set(token, worker.id);
        return undefined;
      }
      case "executions/lease": {
        const answer = JSON.parse(text) as LeaseResponse;
        this.noteLeases(answer);
        for (const change of this.#leaseChanges) change(answer);
        return JSON.stringify(answer);
      }
      case "executions/report":
        this.noteReport(body.operations, JSON.parse(text).results);
        return undefined;
      case "deployments/checked":
        this.noteChecked(body);
        return undefined;
      default:
        return undefined;
    }
  }
}
