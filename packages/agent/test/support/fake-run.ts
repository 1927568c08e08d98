import { randomUUID } from "node:crypto";
import {
  encodeId,
  type DurableCall,
  type Execution,
  type Operation,
  type WaitState,
} from "@keelson/contract";
import { DurableServer } from "../../../sdk/test/support/durable-server.ts";

export type Release = Extract<Operation, { kind: "release" }>;

export type RunOptions = {
  digest: string;
  task?: string;
  payload?: unknown;
  execution?: "exclusive" | "shared";
  memory_mb?: number;
  max_duration?: string;
  secrets?: Record<string, string>;
  /** Default 30 s. */
  park_after?: string;
};

const DURABLE_KINDS: readonly string[] = ["steps", "waits", "tokens", "child-runs", "outputs", "inputs"];

const isDurable = (operation: Operation): operation is Operation & DurableCall =>
  DURABLE_KINDS.includes(operation.kind);

export const newDigits = () => encodeId("run", randomUUID()).slice(4);

/** One run as the server of a test knows it: what was reported for it, and promises of what will be. */
export class FakeRun {
  readonly execution: Execution;
  /** Those of the present lease. */
  operations: Operation[] = [];
  /** What they answered. */
  results: unknown[] = [];
  readonly durable = new DurableServer();
  /** Its lease was released as suspended, and no other was given since. */
  isSuspended = false;
  readonly #leased = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<Release>();
  readonly leased: Promise<void> = this.#leased.promise;
  readonly released: Promise<Release> = this.#released.promise;
  release: Release | null = null;
  lost = false;
  readonly #onOutput = new Set<() => void>();

  constructor(options: RunOptions) {
    this.execution = makeExecution(options);
  }

  markLeased(): void {
    this.#leased.resolve();
  }

  /** Gives what the operation answers. Throws a refusal, which leaves no trace. */
  apply(operation: Operation): unknown {
    const result = isDurable(operation) ? this.durable.apply(operation) : null;
    this.operations.push(operation);
    if (operation.kind === "release" && operation.outcome === "suspended") this.isSuspended = true;
    else if (operation.kind === "release") {
      this.release = operation;
      this.#released.resolve(operation);
    }
    for (const look of this.#onOutput) look();
    return result;
  }

  settledWaits(): WaitState[] {
    return this.durable.openWaits().filter(({ status }) => status !== "pending");
  }

  /** The suspended run is to be leased again. */
  goOn(): void {
    this.isSuspended = false;
    this.operations = [];
    this.results = [];
    this.lost = false;
    this.durable.parked = false;
    Object.assign(this.execution, {
      lease_id: `lease_${newDigits()}`,
      epoch: this.execution.epoch + 1,
      journal: structuredClone(this.durable.journal),
      waits: this.durable.openWaits(),
    });
  }

  /** Resolves when this is so; looked at after each operation. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isSo()) return;
        this.#onOutput.delete(look);
        resolve();
      };
      this.#onOutput.add(look);
      look();
    });
  }

  /** The bytes of one stream so far. */
  output(stream: "stdout" | "stderr"): Buffer {
    const chunks = this.operations.flatMap((operation) =>
      operation.kind === "logs" ? operation.chunks : [],
    );
    return Buffer.concat(
      chunks.filter((chunk) => chunk.stream === stream).map(({ data }) => Buffer.from(data, "base64")),
    );
  }

  /** Resolves when the stream contains `text`. */
  outputHas(stream: "stdout" | "stderr", text: string): Promise<void> {
    return this.until(() => this.output(stream).includes(text));
  }
}

function makeExecution(options: RunOptions): Execution {
  const task = options.task ?? "main";
  return {
    lease_id: `lease_${newDigits()}`,
    epoch: 1,
    expires_at: new Date(Date.now() + 15_000).toISOString(),
    bundle_digest: options.digest,
    bundle_format_version: 1,
    entrypoint: {
      kind: "task",
      declared_id: task,
      execution: options.execution ?? "exclusive",
      memory_mb: options.memory_mb ?? null,
      max_duration: options.max_duration ?? null,
    },
    run: {
      id: `run_${newDigits()}`,
      project_id: `proj_${newDigits()}`,
      environment_id: `env_${newDigits()}`,
      task,
      actor: null,
      attempt_number: 1,
      max_attempts: 1,
      payload: options.payload ?? null,
      metadata: {},
      tags: [],
      queue: "default",
      created_at: new Date().toISOString(),
      deployment_id: `dep_${newDigits()}`,
      deployment_version: "20261120.1",
      session_id: null,
      turn: null,
      parent_run_id: null,
      schedule_id: null,
      workspace_id: null,
    },
    secrets: options.secrets ?? {},
    journal: [],
    waits: [],
    active: "0ms",
    park_after: options.park_after ?? "30s",
    session: null,
  };
}
