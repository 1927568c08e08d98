// The server of a test of the agent: the real one behind a proxy that fails on demand and notes what is reported.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type {
  DeploymentChecked,
  Execution,
  Isolation,
  LeaseResponse,
  Operation,
  OperationResult,
  TaskFolder,
} from "@keelson/contract";
import { sql } from "../../../server/src/db/sql.ts";
import { enrollWorker, type RawWorker } from "../../../server/test/support/raw-worker.ts";
import { addUser } from "../../../server/test/support/tenancy.ts";
import { RunRecord } from "./run-record.ts";
import { addGroup, creationOf, digestOf, sharedServer, TestPlace, type TestGroup } from "./test-place.ts";
import { WorkerDoor } from "./worker-door.ts";
import { cleanUp } from "./clean-up.ts";

export type RunOptions = {
  digest: string;
  task?: string;
  payload?: unknown;
  execution?: "exclusive" | "shared";
  memory_mb?: number;
  isolation?: Isolation;
  folders?: TaskFolder[];
  max_duration?: string;
  /** Names of those that the task declares. */
  secrets?: string[];
  /** By any name; each name is another environment. Default: the one of all runs that name none. */
  environment?: string;
  /** What the worker is told; default: as the server has it, 30 s. */
  park_after?: string;
};

export class AgentServer extends WorkerDoor {
  readonly group: TestGroup;
  readonly #places = new Map<string, Promise<TestPlace>>();
  readonly #placeOf = new Map<RunRecord, TestPlace>();
  readonly #bundles = new Map<string, { bytes: Uint8Array; format: number; files: Uint8Array[] }>();
  readonly #runs = new Map<string, { record: RunRecord; options: RunOptions }>();
  readonly #leases = new Map<string, RunRecord>();
  readonly #checks = new Map<string, PromiseWithResolvers<DeploymentChecked>>();
  readonly #secrets = new Map<string, string>();
  #starting: Promise<unknown> = Promise.resolve();

  private constructor(group: TestGroup) {
    super();
    this.group = group;
  }

  static async start(): Promise<AgentServer> {
    const server = await sharedServer();
    const one = new AgentServer(await addGroup(server));
    await one.open(server.url);
    return one;
  }

  /** What an agent in a process of its own needs to be one of this server's. */
  get settings(): { KEELSON_URL: string; KEELSON_ENROLLMENT_TOKEN: string } {
    return { KEELSON_URL: this.url, KEELSON_ENROLLMENT_TOKEN: this.group.enrollmentToken };
  }

  putBundle(source: string): string {
    const digest = digestOf(source);
    this.#bundles.set(digest, { bytes: Buffer.from(source), format: 1, files: [] });
    return digest;
  }

  /** An archive of these files, by path; those with `#!` are executable. */
  putArchive(contents: Record<string, string | Uint8Array>, entry = "bundle.mjs"): string {
    const { index, files } = archiveOf(contents, entry);
    const digest = digestOf(index);
    this.#bundles.set(digest, { bytes: index, format: 2, files });
    return digest;
  }

  /** Starts a run of that bundle, after those that were started before. */
  enqueue(options: RunOptions): RunRecord {
    const record = new RunRecord();
    const starting = this.#starting.then(() => this.#start(record, options));
    this.#starting = starting.catch((error: unknown) => record.fail(error));
    return record;
  }

  /** The server has all runs that were enqueued. */
  async started(): Promise<void> {
    await this.#starting;
  }

  async #start(record: RunRecord, options: RunOptions): Promise<void> {
    const { digest, task = "main", payload = null } = options;
    const place = await this.place(options.environment);
    const { bytes, format } = await this.#upload(place, digest);
    const { execution, memory_mb, isolation, folders, max_duration, secrets } = options;
    const fields = { execution, memory_mb, isolation, folders, max_duration, secrets };
    const declared = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const retry = { max_attempts: 1 };
    const deployment_version = await place.deploy(bytes, format, { id: task, retry, ...declared });
    // A lease may come before the answer with the run's id does: it is known by its tag.
    const tag = `run-${this.#runs.size + 1}`;
    this.#runs.set(tag, { record, options });
    this.#placeOf.set(record, place);
    await place.call("POST", `/v1/tasks/${task}/start`, { payload, deployment_version, tags: [tag] });
  }

  async #upload(place: TestPlace, digest: string): Promise<{ bytes: Uint8Array; format: number }> {
    const bundle = this.#bundles.get(digest);
    assert.ok(bundle !== undefined, `nobody put the bundle ${digest}`);
    await Promise.all([bundle.bytes, ...bundle.files].map((bytes) => place.upload(bytes)));
    return bundle;
  }

  /** The environment that goes by this name in the test. */
  place(name = "test"): Promise<TestPlace> {
    const place = this.#places.get(name) ?? TestPlace.add(this.group);
    this.#places.set(name, place);
    return place;
  }

  /** Creates a deployment, and gives what its check reported first. */
  async check(digest: string, tasks = ["main"]): Promise<DeploymentChecked> {
    const place = await this.place();
    const { format } = await this.#upload(place, digest);
    const declared = tasks.map((id) => ({ id }));
    const { id } = await place.call("POST", "/v1/deployments", creationOf(digest, format, declared));
    return this.#checkOf(id).promise;
  }

  #checkOf(deploymentId: string): PromiseWithResolvers<DeploymentChecked> {
    const check = this.#checks.get(deploymentId) ?? Promise.withResolvers<DeploymentChecked>();
    this.#checks.set(deploymentId, check);
    return check;
  }

  async cancel(run: RunRecord): Promise<void> {
    await this.#placeOf.get(run)?.call("POST", `/v1/runs/${run.execution.run.id}/cancel`);
  }

  /** Completes the token that the run waits for. */
  async completeToken(run: RunRecord, data: unknown = null): Promise<void> {
    const { value } = run.resultOf("tokens") as { value: { id: string } };
    await this.#placeOf.get(run)?.call("POST", `/v1/tokens/${value.id}/complete`, { data });
  }

  /** What the server keeps of the run's durable calls. */
  async journalOf(run: RunRecord): ReturnType<TestPlace["journalOf"]> {
    return (await this.#placeOf.get(run)?.journalOf(run.execution.run.id)) ?? [];
  }

  /** Creates the secret or, when it is there, gives it a new version. */
  async putSecret(name: string, value: string, environment?: string): Promise<void> {
    const place = await this.place(environment);
    const key = `${place.id} ${name}`;
    const id = this.#secrets.get(key);
    if (id !== undefined) return void (await place.call("POST", `/v1/secrets/${id}/rotate`, { value }));
    this.#secrets.set(key, (await place.call("POST", "/v1/secrets", { name, value })).id);
  }

  async deleteSecret(name: string, environment?: string): Promise<void> {
    const place = await this.place(environment);
    await place.call("DELETE", `/api/secrets/${name}`);
    this.#secrets.delete(`${place.id} ${name}`);
  }

  /** Somebody drains the worker. */
  async drain(workerId: string): Promise<void> {
    const { server } = this.group;
    const as = await addUser(server, null, { isAdmin: true });
    const answer = await server.call("POST", `/admin/api/v1/workers/${workerId}/drain`, { as });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  }

  /** Another worker of the same runs, which a test moves by hand. */
  addWorker(): Promise<RawWorker> {
    const { server, enrollmentToken } = this.group;
    const credentials = { ...server.credentials, enrollment_token: enrollmentToken };
    return enrollWorker({ ...server, credentials });
  }

  /** The server knows no worker's bearer any more. */
  async forgetTokens(): Promise<void> {
    await this.group.server.db.query(sql`
      DELETE FROM worker_tokens t USING workers w WHERE w.id = t.worker_id AND w.worker_group_id = ${this.group.id}`);
  }

  /** How many workers have enrolled in the group. */
  async countWorkers(): Promise<number> {
    const workers = await this.group.server.db.query(
      sql`SELECT id FROM workers WHERE worker_group_id = ${this.group.id}`,
    );
    return workers.length;
  }

  override async close(): Promise<void> {
    await this.#starting;
    await super.close();
  }

  protected override noteLeases(answer: LeaseResponse): void {
    const runOf = ({ run: { id, tags } }: Execution) => {
      const run = tags.map((tag) => this.#runs.get(tag)).find((found) => found !== undefined);
      assert.ok(run !== undefined, `a run of nobody: ${id}`);
      return run;
    };
    // A run that was handed back is leased again at once: it would come in the way of what its test does next.
    answer.executions = answer.executions.filter((execution) => runOf(execution).record.release === null);
    for (const execution of answer.executions) {
      const run = runOf(execution);
      // The server has one such setting for all runs.
      if (run.options.park_after !== undefined) execution.park_after = run.options.park_after;
      run.record.noteLease(execution);
      this.#leases.set(execution.lease_id, run.record);
    }
  }

  protected override noteReport(operations: Operation[], results: OperationResult[]): void {
    for (const [at, operation] of operations.entries()) {
      const answer = results[at];
      if (answer?.status === 200)
        this.#leases.get(operation.lease_id)?.noteOperation(operation, answer.result);
    }
  }

  protected override noteChecked(checked: DeploymentChecked): void {
    this.#checkOf(checked.deployment_id).resolve(checked);
  }
}

/** Of the test, and ended with it. */
export async function startAgentServer(t: TestContext): Promise<AgentServer> {
  const server = await AgentServer.start();
  cleanUp(t, () => server.close());
  return server;
}

export function archiveOf(
  contents: Record<string, string | Uint8Array>,
  entry = "bundle.mjs",
): { index: Uint8Array; files: Uint8Array[] } {
  const files = Object.values(contents).map((content) => Buffer.from(content as string));
  const listed = Object.keys(contents).map((path, at) => {
    const bytes = files[at] as Buffer;
    const executable = bytes.subarray(0, 2).toString() === "#!";
    return { path, digest: digestOf(bytes), size_bytes: bytes.length, executable };
  });
  const index = { format_version: 2, entry, node_version: "24.0.0", platform: null, files: listed };
  return { index: Buffer.from(JSON.stringify(index)), files };
}
