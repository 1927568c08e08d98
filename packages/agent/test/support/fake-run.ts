import { randomUUID } from "node:crypto";
import { encodeId, type Execution, type Operation } from "@keelson/contract";

export type Release = Extract<Operation, { kind: "release" }>;

export type RunOptions = {
  digest: string;
  task?: string;
  payload?: unknown;
  execution?: "exclusive" | "shared";
  memory_mb?: number;
  max_duration?: string;
};

export const newDigits = () => encodeId("run", randomUUID()).slice(4);

/** One run as the server of a test knows it: what was reported for it, and promises of what will be. */
export class FakeRun {
  readonly execution: Execution;
  readonly operations: Operation[] = [];
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

  apply(operation: Operation): void {
    this.operations.push(operation);
    if (operation.kind === "release") {
      this.release = operation;
      this.#released.resolve(operation);
    }
    for (const look of this.#onOutput) look();
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
    return new Promise((resolve) => {
      const look = () => {
        if (!this.output(stream).includes(text)) return;
        this.#onOutput.delete(look);
        resolve();
      };
      this.#onOutput.add(look);
      look();
    });
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
    secrets: {},
    journal: [],
    resolved_wait: null,
  };
}
