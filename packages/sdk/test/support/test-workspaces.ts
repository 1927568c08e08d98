// What the worker of a test does with workspaces: it says that they are there, and how their commands ended.

import assert from "node:assert/strict";
import type { ExecResult, Execution as LeasedExecution } from "@keelson/contract";
import type { RawWorker } from "../../../server/test/support/raw-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** How a command ended, as the worker that ran it says. */
export type ExecEnding = {
  outcome: "exited" | "failed" | "lost" | "cancelled";
  exit_code?: number;
  error?: { message: string };
  stdout?: string;
};

export class TestWorkspaces {
  readonly #raw: RawWorker;
  /** By run. */
  readonly #attached = new Map<string, Json>();

  constructor(raw: RawWorker) {
    this.#raw = raw;
  }

  /** The worker takes workspaces from now on. */
  async begin(): Promise<void> {
    await this.#post("/lease", { limit: 0, wait: "0s", isolation: "namespace", held: [] });
  }

  async #post(path: string, body: object): Promise<Json> {
    const answer = await this.#raw.call("POST", `/workspaces${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }

  /** Puts the workspace of a leased run here, as far as its code sees. */
  async attach(leased: LeasedExecution): Promise<void> {
    const { materialization } = await this.#post("/attach", leaseOf(leased));
    this.#attached.set(leased.run.id, materialization);
    if (materialization.status === "preparing")
      await this.#post("/live", { ...fieldsOf(materialization), isolation: "namespace" });
  }

  /** How a command of the run ended, once it has. */
  async result(leased: LeasedExecution, id: string): Promise<ExecResult> {
    for (;;) {
      const ask = { ...leaseOf(leased), process_id: id, wait: "20s" };
      const result: ExecResult = await this.#post("/processes/result", ask);
      if (result.status !== "pending" && result.status !== "running") return result;
    }
  }

  /** A command of the run begins. */
  async start(runId: string, id: string): Promise<void> {
    const fields = { ...fieldsOf(this.#attached.get(runId)), process_id: id };
    await this.#post("/processes/started", fields);
  }

  /** A command of the run ends. */
  async end(runId: string, id: string, { stdout, ...ending }: ExecEnding): Promise<void> {
    const fields = { ...fieldsOf(this.#attached.get(runId)), process_id: id };
    if (ending.outcome !== "failed") await this.start(runId, id);
    if (stdout !== undefined) {
      const data = Buffer.from(stdout).toString("base64");
      const chunks = [{ stream: "stdout", offset: 0, data, at: "2026-11-20T09:15:00.123Z" }];
      await this.#post("/processes/output", { ...fields, chunks });
    }
    await this.#post("/processes/ended", { ...fields, ...ending });
  }
}

const leaseOf = ({ run, lease_id, epoch }: LeasedExecution): object => ({
  run_id: run.id,
  environment_id: run.environment_id,
  lease_id,
  epoch,
});

const fieldsOf = ({ materialization_id, environment_id, epoch }: Json): object => ({
  materialization_id,
  environment_id,
  epoch,
});
