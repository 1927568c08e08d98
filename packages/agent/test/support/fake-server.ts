/**
 * The server's side of the worker protocol in memory, faithful in what the agent can observe: leases with epochs,
 * gapless sequences applied once, long polls, repeated lease requests, cancellations by lease and renewal.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeId, parseDuration, type DeploymentChecked, type Execution, type LeaseRequest, type LeaseResponse, type Renew } from "@keelson/contract";

type Lease = { run_id: string; lease_id: string; epoch: number; sequence: number; at: string };
type Failure = { kind: string; message: string; stack: string | null; retryable: boolean; retry_after?: string };
type Release = Lease & { kind: "release"; outcome: string; output?: unknown; failure?: Failure };
type Logs = Lease & { kind: "logs"; chunks: { stream: "stdout" | "stderr"; data: string; at: string }[] };
type Operation = Release | Logs | (Lease & { kind: "start" }) | (Lease & { kind: "events"; events: object[] }) | (Lease & { kind: "metadata"; changes: object[] });

export type FakeRun = {
  execution: Execution;
  operations: Operation[];
  started: Promise<void>;
  released: Promise<Release>;
  release: Release | null;
  /** Bytes of one stream so far. */
  output(stream: "stdout" | "stderr"): Buffer;
  /** Resolves when the stream contains `text`. */
  outputHas(stream: "stdout" | "stderr", text: string): Promise<void>;
  leased: Promise<void>;
};

type Stored = FakeRun & { lost: boolean; onOperation: () => void; onLeased: () => void; onStarted: () => void; onReleased: (release: Release) => void };

export type RunOptions = {
  digest: string;
  task?: string;
  payload?: unknown;
  execution?: "exclusive" | "shared";
  memory_mb?: number;
  max_duration?: string;
};

export type FakeServer = Awaited<ReturnType<typeof startFakeServer>>;

const digits = () => encodeId("run", randomUUID()).slice(4);
const farFuture = () => new Date(Date.now() + 3_600_000).toISOString();

export async function startFakeServer() {
  const bundles = new Map<string, Buffer>();
  const queue: Stored[] = [];
  const byLease = new Map<string, Stored>();
  const cancelRequested = new Set<Stored>();
  const replies = new Map<string, LeaseResponse>();
  const checks: LeaseResponse["deployment_checks"] = [];
  const checked = new Map<string, (answer: DeploymentChecked) => void>();
  const calls: { path: string; authorization: string | undefined; body: string }[] = [];
  const faults: { route: string; status: number; apply: boolean }[] = [];
  const validTokens = new Set<string>();
  let waiting: (() => void) | null = null;
  let paused: Promise<void> | null = null;

  const takeLease = (request: LeaseRequest): LeaseResponse => {
    const executions = queue.splice(0, request.limit).map((run) => {
      byLease.set(run.execution.lease_id, run);
      run.onLeased();
      return run.execution;
    });
    return { executions, cancellations: cancellations(), deployment_checks: checks.splice(0) };
  };

  const cancellations = () =>
    [...cancelRequested]
      .filter((run) => byLease.has(run.execution.lease_id) && run.release === null && !run.lost)
      .map(({ execution }) => ({ run_id: execution.run.id, lease_id: execution.lease_id, epoch: execution.epoch }));

  const announced = new Set<string>();
  const hasNews = (limit: number) => (limit > 0 && queue.length > 0) || checks.length > 0 || cancellations().some(({ lease_id }) => !announced.has(lease_id));

  async function lease(request: LeaseRequest, req: IncomingMessage): Promise<LeaseResponse> {
    const repeated = replies.get(request.lease_request_id);
    if (repeated !== undefined) return repeated;
    const deadline = Date.now() + (parseDuration(request.wait ?? "0s") ?? 0);
    while (!hasNews(request.limit) && Date.now() < deadline && !req.socket.destroyed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - Date.now());
        const done = () => (clearTimeout(timer), req.socket.off("close", done), resolve());
        waiting = done;
        req.socket.once("close", done);
      });
    }
    const reply = req.socket.destroyed ? { executions: [], cancellations: [], deployment_checks: [] } : takeLease(request);
    for (const { lease_id } of reply.cancellations) announced.add(lease_id);
    if (reply.executions.length > 0) replies.set(request.lease_request_id, reply);
    return reply;
  }

  function apply(operation: Operation): { status: number; error: object | null } {
    const refuse = (status: number, code: string, message: string) => ({ status, error: { code, message, details: null, request_id: "test" } });
    const run = byLease.get(operation.lease_id);
    if (run === undefined || run.lost || run.execution.epoch !== operation.epoch) return refuse(409, "lease_lost", "The lease was superseded.");
    if (operation.sequence <= run.operations.length) return { status: 200, error: null };
    if (operation.sequence !== run.operations.length + 1) return refuse(409, "invalid_state", `sequence ${operation.sequence} leaves a gap after ${run.operations.length}`);
    if (run.release !== null) return refuse(409, "lease_lost", "The lease was released.");
    if (operation.kind === "metadata" && JSON.stringify(operation).length > 16_384) return refuse(413, "payload_too_large", "The metadata is over 16 KiB.");
    run.operations.push(operation);
    if (operation.kind === "start") run.onStarted();
    if (operation.kind === "release") {
      run.release = operation;
      run.onReleased(operation);
    }
    run.onOperation();
    return { status: 200, error: null };
  }

  async function answer(path: string, body: string, req: IncomingMessage): Promise<unknown> {
    switch (path) {
      case "/worker/v1/register":
      case "/worker/v1/activate":
      case "/worker/v1/drain":
      case "/worker/v1/heartbeat":
        return {};
      case "/worker/v1/executions/lease":
        return lease(JSON.parse(body) as LeaseRequest, req);
      case "/worker/v1/executions/report":
        return { results: (JSON.parse(body) as { operations: Operation[] }).operations.map(apply) };
      case "/worker/v1/executions/renew": {
        const { leases } = JSON.parse(body) as Renew;
        const valid = ({ lease_id }: { lease_id: string }) => byLease.get(lease_id)?.lost === false && byLease.get(lease_id)?.release === null;
        return {
          expires_at: new Date(Date.now() + 15_000).toISOString(),
          renewed: leases.filter(valid).map(({ lease_id }) => lease_id),
          lost: leases.filter((one) => !valid(one)).map(({ lease_id }) => lease_id),
          cancellations: cancellations(),
        };
      }
      case "/worker/v1/deployments/checked": {
        const result = JSON.parse(body) as DeploymentChecked;
        checked.get(result.check_id)?.(result);
        return {};
      }
      default:
        throw new Error(`no route ${path}`);
    }
  }

  function mint(): object {
    const token = `kl_wkr_${randomUUID()}`;
    validTokens.add(token);
    return { token, expires_at: farFuture(), worker: { id: encodeId("wkr", randomUUID()) } };
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    const path = req.url ?? "";
    calls.push({ path, authorization: req.headers.authorization, body: body.length < 4096 ? body : "" });
    const send = (status: number, value: unknown) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const refuse = (status: number, code: string) => send(status, { error: { code, message: code, details: null, request_id: "test" } });
    if (paused !== null) await paused;
    if (path === "/api/worker/auth/token") return void send(200, mint());
    if (!validTokens.has((req.headers.authorization ?? "").replace("Bearer ", ""))) return void refuse(401, "unauthenticated");
    const at = faults.findIndex(({ route }) => path.endsWith(route));
    const fault = at < 0 ? null : (faults.splice(at, 1)[0] ?? null);
    if (fault !== null && !fault.apply) return fault.status === 0 ? void req.socket.destroy() : void refuse(fault.status, "internal");
    if (path.startsWith("/worker/v1/bundles/")) {
      const bundle = bundles.get(path.slice("/worker/v1/bundles/".length));
      return bundle === undefined ? void refuse(404, "not_found") : void res.writeHead(200, { "content-type": "application/octet-stream" }).end(bundle);
    }
    const reply = await answer(path, body, req);
    if (fault !== null) return void req.socket.destroy();
    send(200, reply);
  }

  const server = createServer((req, res) => void handle(req, res).catch((error: Error) => res.writeHead(500).end(error.stack)));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  function enqueue(options: RunOptions): FakeRun {
    const leased = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const released = Promise.withResolvers<Release>();
    const waiters = new Set<() => void>();
    const task = options.task ?? "main";
    const operations: Operation[] = [];
    const output = (stream: "stdout" | "stderr"): Buffer =>
      Buffer.concat(operations.flatMap((op) => (op.kind === "logs" ? op.chunks.filter((chunk) => chunk.stream === stream).map((chunk) => Buffer.from(chunk.data, "base64")) : [])));
    const run: Stored = {
      execution: {
        lease_id: `lease_${digits()}`,
        epoch: 1,
        expires_at: new Date(Date.now() + 15_000).toISOString(),
        bundle_digest: options.digest,
        bundle_format_version: 1,
        entrypoint: { kind: "task", declared_id: task, execution: options.execution ?? "exclusive", memory_mb: options.memory_mb ?? null, max_duration: options.max_duration ?? null },
        run: {
          id: `run_${digits()}`, project_id: `proj_${digits()}`, environment_id: `env_${digits()}`, task, actor: null, attempt_number: 1, max_attempts: 1,
          payload: options.payload ?? null, metadata: {}, tags: [], queue: "default", created_at: new Date().toISOString(), deployment_id: `dep_${digits()}`,
          deployment_version: "20261120.1", session_id: null, turn: null, parent_run_id: null, schedule_id: null, workspace_id: null,
        },
        secrets: {}, journal: [], resolved_wait: null,
      },
      operations,
      leased: leased.promise,
      started: started.promise,
      released: released.promise,
      release: null,
      output,
      outputHas: (stream, text) =>
        new Promise((resolve) => {
          const look = () => {
            if (!output(stream).includes(text)) return;
            waiters.delete(look);
            resolve();
          };
          waiters.add(look);
          look();
        }),
      lost: false,
      onOperation: () => waiters.forEach((look) => look()),
      onLeased: leased.resolve,
      onStarted: started.resolve,
      onReleased: released.resolve,
    };
    queue.push(run);
    waiting?.();
    return run;
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    enqueue,
    putBundle(source: string): string {
      const digest = createHash("sha256").update(source).digest("hex");
      bundles.set(digest, Buffer.from(source));
      return digest;
    },
    cancel(run: FakeRun): void {
      cancelRequested.add(run as Stored);
      waiting?.();
    },
    loseLease(run: FakeRun): void {
      (run as Stored).lost = true;
    },
    check(digest: string): Promise<DeploymentChecked> {
      const check_id = randomUUID();
      checks.push({ deployment_id: `dep_${digits()}`, check_id, bundle_digest: digest, bundle_format_version: 1 });
      waiting?.();
      return new Promise((resolve) => checked.set(check_id, resolve));
    },
    /** The next call of that route fails: with `status`, or 0 for a cut connection; `apply` lets it take effect first. */
    fail(route: string, status: number, apply = false): void {
      faults.push({ route, status, apply });
    },
    revokeTokens: () => validTokens.clear(),
    /** Answers nothing until the returned function is called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      paused = promise;
      return () => ((paused = null), resolve());
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
