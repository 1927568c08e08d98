import { createHash, randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import {
  encodeId,
  parseDuration,
  type DeploymentChecked,
  type LeaseRequest,
  type LeaseResponse,
  type Operation,
  type OperationResult,
  type Renew,
} from "@keelson/contract";
import { FakeRun, newDigits, type RunOptions } from "./fake-run.ts";

/**
 * The server's side of the worker protocol in memory, faithful in what the agent can observe: leases with epochs,
 * gapless sequences applied once, long polls, repeated lease requests, cancellations by lease and renewal.
 */
export class FakeProtocol {
  readonly bundles = new Map<string, Buffer>();
  readonly tokens = new Set<string>();
  leaseDuration = "15s";
  readonly #queue: FakeRun[] = [];
  readonly #byLease = new Map<string, FakeRun>();
  readonly #replies = new Map<string, LeaseResponse>();
  readonly #checks: LeaseResponse["deployment_checks"] = [];
  readonly #checked = new Map<string, (answer: DeploymentChecked) => void>();
  readonly #cancelRequested = new Set<FakeRun>();
  readonly #announced = new Set<string>();
  readonly #told = new Set<string>();
  #wakePoll: () => void = () => undefined;
  #draining = false;
  #tellsDrain = true;

  enqueue(options: RunOptions): FakeRun {
    const run = new FakeRun(options);
    run.durable.onSettled = () => this.#goOn(run);
    this.#queue.push(run);
    this.#wakePoll();
    return run;
  }

  putBundle(source: string): string {
    const digest = createHash("sha256").update(source).digest("hex");
    this.bundles.set(digest, Buffer.from(source));
    return digest;
  }

  cancel(run: FakeRun): void {
    this.#cancelRequested.add(run);
    this.#wakePoll();
  }

  /** Somebody drains the worker; an open lease call is told so, unless only the next heartbeat is. */
  drain({ silently = false } = {}): void {
    this.#draining = true;
    this.#tellsDrain = !silently;
    this.#wakePoll();
  }

  check(digest: string): Promise<DeploymentChecked> {
    const check_id = randomUUID();
    this.#checks.push({
      deployment_id: `dep_${newDigits()}`,
      check_id,
      bundle_digest: digest,
      bundle_format_version: 1,
    });
    this.#wakePoll();
    return new Promise((resolve) => this.#checked.set(check_id, resolve));
  }

  mint(): object {
    const token = `kl_wkr_${randomUUID()}`;
    this.tokens.add(token);
    return {
      token,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      worker: { id: encodeId("wkr", randomUUID()) },
    };
  }

  async answer(route: string, body: string, socket: Socket): Promise<unknown> {
    switch (route) {
      case "register":
      case "activate":
      case "drain":
        return {};
      case "heartbeat":
        return { status: this.#draining ? "draining" : "active" };
      case "executions/lease":
        return this.#lease(JSON.parse(body) as LeaseRequest, socket);
      case "executions/report":
        return {
          results: (JSON.parse(body) as { operations: Operation[] }).operations.map((operation) =>
            this.#apply(operation),
          ),
        };
      case "executions/renew":
        return this.#renew(JSON.parse(body) as Renew);
      case "deployments/checked": {
        const answer = JSON.parse(body) as DeploymentChecked;
        this.#checked.get(answer.check_id)?.(answer);
        return {};
      }
      default:
        throw new Error(`no route ${route}`);
    }
  }

  async #lease(request: LeaseRequest, socket: Socket): Promise<LeaseResponse> {
    const repeated = this.#replies.get(request.lease_request_id);
    if (repeated !== undefined) return repeated;
    const deadline = Date.now() + (parseDuration(request.wait ?? "0s") ?? 0);
    while (!this.#hasNews(request.limit) && Date.now() < deadline && !socket.destroyed)
      await this.#news(deadline, socket);
    if (socket.destroyed)
      return {
        lease_duration: this.leaseDuration,
        executions: [],
        cancellations: [],
        resumptions: [],
        deployment_checks: [],
        draining: this.#draining && this.#tellsDrain,
      };
    const runs = this.#queue.splice(0, request.limit);
    for (const run of runs) {
      this.#byLease.set(run.execution.lease_id, run);
      run.markLeased();
    }
    const reply = {
      lease_duration: this.leaseDuration,
      executions: runs.map(({ execution }) => structuredClone(execution)),
      cancellations: this.#cancellations(),
      resumptions: this.#resumptions(),
      deployment_checks: this.#checks.splice(0),
      draining: this.#draining && this.#tellsDrain,
    };
    for (const { lease_id, waits } of reply.resumptions) this.#told.add(`${lease_id} ${waits.length}`);
    for (const { lease_id } of reply.cancellations) this.#announced.add(lease_id);
    if (runs.length > 0) this.#replies.set(request.lease_request_id, reply);
    return reply;
  }

  #news(deadline: number, socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        socket.off("close", done);
        resolve();
      };
      const timer = setTimeout(done, deadline - Date.now());
      this.#wakePoll = done;
      socket.once("close", done);
    });
  }

  /** A wait of the run has settled, or it was suspended when one had. */
  #goOn(run: FakeRun): void {
    if (run.isSuspended) {
      this.#byLease.delete(run.execution.lease_id);
      run.goOn();
      this.#queue.push(run);
    }
    this.#wakePoll();
  }

  #resumptions(): LeaseResponse["resumptions"] {
    return [...this.#byLease.values()].flatMap((run) => {
      const waits = run.settledWaits();
      if (waits.length === 0 || run.lost || run.release !== null || run.isSuspended) return [];
      const { lease_id, epoch } = run.execution;
      return [{ run_id: run.execution.run.id, lease_id, epoch, waits }];
    });
  }

  #hasNews(limit: number): boolean {
    if (this.#resumptions().some(({ lease_id, waits }) => !this.#told.has(`${lease_id} ${waits.length}`)))
      return true;
    if (this.#draining && this.#tellsDrain) return true;
    if ((limit > 0 && this.#queue.length > 0) || this.#checks.length > 0) return true;
    return this.#cancellations().some(({ lease_id }) => !this.#announced.has(lease_id));
  }

  #cancellations(): LeaseResponse["cancellations"] {
    return [...this.#cancelRequested]
      .filter((run) => this.#byLease.has(run.execution.lease_id) && run.release === null && !run.lost)
      .map(({ execution }) => ({
        run_id: execution.run.id,
        lease_id: execution.lease_id,
        epoch: execution.epoch,
      }));
  }

  #renew({ leases }: Renew): object {
    const isHeld = ({ lease_id }: { lease_id: string }) => {
      const run = this.#byLease.get(lease_id);
      return run !== undefined && !run.lost && run.release === null && !run.isSuspended;
    };
    return {
      expires_at: new Date(Date.now() + 15_000).toISOString(),
      renewed: leases.filter(isHeld).map(({ lease_id }) => lease_id),
      lost: leases.filter((lease) => !isHeld(lease)).map(({ lease_id }) => lease_id),
      cancellations: this.#cancellations(),
      resumptions: this.#resumptions(),
    };
  }

  #apply(operation: Operation): OperationResult {
    const run = this.#byLease.get(operation.lease_id);
    if (run === undefined || run.lost || run.execution.epoch !== operation.epoch)
      return refuse(409, "lease_lost", "The lease was superseded.");
    const applied = run.operations.length;
    if (operation.sequence <= applied)
      return { status: 200, error: null, result: run.results[operation.sequence - 1] };
    if (run.release !== null || run.isSuspended) return refuse(409, "lease_lost", "The lease was released.");
    if (operation.sequence !== applied + 1)
      return refuse(409, "invalid_state", `The next sequence is ${applied + 1}.`);
    if (operation.kind === "metadata" && JSON.stringify(operation).length > 16_384)
      return refuse(413, "payload_too_large", "The metadata is over 16 KiB.");
    let result: unknown;
    try {
      result = run.apply(operation);
    } catch (error) {
      const { code, message } = error as Error & { code: "invalid_state" };
      return refuse(409, code, message);
    }
    run.results.push(result);
    if (run.isSuspended && run.settledWaits().length > 0) this.#goOn(run);
    return { status: 200, error: null, result };
  }
}

const refuse = (
  status: number,
  code: "lease_lost" | "invalid_state" | "payload_too_large",
  message: string,
): OperationResult => ({
  status,
  error: { code, message, details: null, request_id: "test" },
});
