import assert from "node:assert/strict";
import {
  decodeId,
  encodeId,
  type DurableCall,
  type Execution as LeasedExecution,
  type JournalEntry,
  type StreamRecord,
  type Uuid,
} from "@keelson/contract";
import { sql } from "../../../server/src/db/sql.ts";
import type { Answer } from "../../../server/test/support/api-server.ts";
import { until } from "../../../server/test/support/until.ts";
import type { Execution } from "./execution.ts";
import { testWorker, type TestWorker } from "./test-worker.ts";
import type { ExecEnding } from "./test-workspaces.ts";
import type { VirtualPlace } from "./virtual-clock.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export type Entrypoint = { kind: "task" | "actor"; id: string };

/** A wait as its run asked for it. */
export type AskedWait = Extract<DurableCall, { kind: "waits" }>["waits"][number];

/** Retried and lost attempts of a run begin within this time. */
const NEXT_ATTEMPT_MS = 10 * 60_000;

/** One run of the real server, and what its executions have said. It is started when it is first executed. */
export class KeptRun {
  /** Calls that the server has taken. */
  readonly applied: DurableCall[] = [];
  readonly events: { kind: string; message: string }[] = [];
  readonly changes: unknown[] = [];
  readonly lines: string[] = [];
  /** Waits of calls that the server has taken, by position. */
  readonly asked = new Map<number, AskedWait>();
  /** Positions of waits that have settled, as far as an execution was told. */
  readonly told = new Set<number>();
  /** Positions of waits whose time is over. */
  readonly #over = new Set<number>();
  /** Where times are that the server does something for the run at. */
  #times: VirtualPlace | null = null;
  /** Its last execution. */
  execution: Execution | null = null;
  /** The last attempt failed, so the next one comes later. */
  isDelayed = false;
  readonly #entrypoint: Entrypoint;
  readonly #body: object;
  readonly #began: (runId: string) => void;
  #started: Promise<{ id: string; session: Json }> | undefined;

  /**
   * @param body fields of the start, besides the entrypoint
   * @param began told of the run's id before it is executed
   */
  constructor(entrypoint: Entrypoint, body: object = {}, began: (runId: string) => void = () => undefined) {
    this.#entrypoint = entrypoint;
    this.#body = body;
    this.#began = began;
  }

  /** The run as it was started, with its session if it has one. */
  started(): Promise<{ id: string; session: Json }> {
    return (this.#started ??= this.#start());
  }

  async #start(): Promise<{ id: string; session: Json }> {
    const worker = await testWorker();
    const { kind, id } = this.#entrypoint;
    await worker.deploy(kind, id);
    const body = await this.call("POST", `/v1/${kind}s/${id}/start`, this.#body);
    const started =
      kind === "task" ? { id: body.id, session: null } : { id: body.run.id, session: body.session };
    this.#began(started.id);
    return started;
  }

  /** A call of the API, which must succeed. */
  async call(method: string, path: string, body?: object): Promise<Json> {
    const { server } = await testWorker();
    const answer: Answer = await server.call(method, path, body === undefined ? {} : { body });
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  }

  async lease(): Promise<LeasedExecution> {
    const { id } = await this.started();
    const worker = await testWorker();
    if (this.isDelayed) await worker.pass(NEXT_ATTEMPT_MS);
    this.isDelayed = false;
    const execution = await worker.lease(id);
    for (const { position, status, kind, name, timeout_at: timeoutAt } of execution.waits) {
      if (status !== "pending") this.told.add(position);
      else if (!this.asked.has(position)) {
        // Of an execution that died before it heard that the server had taken it. A wait for a token has its id for a name.
        const ms = timeoutAt === null ? null : Date.parse(timeoutAt) - worker.now();
        this.ask({ position, kind, name, ...(kind === "token" && { token_id: name }) }, ms, worker);
      }
    }
    return execution;
  }

  /** The run as the API shows it. */
  async get(): Promise<Json> {
    return this.call("GET", `/v1/runs/${(await this.started()).id}`);
  }

  async journal(): Promise<Omit<JournalEntry, "attempt_number">[]> {
    const { db } = (await testWorker()).server;
    const rows = await db.query<Omit<JournalEntry, "value" | "error"> & { value: string; error: string }>(sql`
      SELECT position, place, kind, name, value, error FROM run_journal
      WHERE run_id = ${decodeId("run", (await this.started()).id)} ORDER BY sequence`);
    return rows.map((row) => ({ ...row, value: JSON.parse(row.value), error: JSON.parse(row.error) }));
  }

  /** Appends to an input stream of its session, and the worker hears of it. */
  async send(data: unknown, stream = "input"): Promise<void> {
    const { session } = await this.started();
    await this.call("POST", `/api/sessions/${session.id}/inputs/${stream}`, { data });
    await (await testWorker()).renew();
  }

  /** What its session's streams have, the first record first. */
  async records(side: "inputs" | "outputs" = "outputs", stream = "output"): Promise<StreamRecord[]> {
    const { session } = await this.started();
    return (await this.call("GET", `/api/sessions/${session.id}/${side}/${stream}?limit=200`)).records;
  }

  /** Runs that this one has started, in the order of its journal. */
  async children(): Promise<{ id: string; payload: unknown; tags: string[] }[]> {
    const { db } = (await testWorker()).server;
    const rows = await db.query<{ id: Uuid<"run">; payload: string; tags: string[] | null }>(sql`
      SELECT id, payload, tags FROM runs
      WHERE parent_run_id = ${decodeId("run", (await this.started()).id)} `);
    const started = (await this.journal()).filter(
      ({ kind, value }) => kind === "child_run" && value !== null,
    );
    const order = started.map(({ value }) => (value as { id: string }).id);
    return rows
      .map(({ id, payload, tags }) => ({
        id: encodeId("run", id),
        payload: JSON.parse(payload),
        tags: tags ?? [],
      }))
      .toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  }

  /** A worker takes the nth run that this one has started, from 1, and ends it. */
  async endChild(nth: number, ending: { outcome: string } & Record<string, unknown>): Promise<void> {
    const worker = await testWorker();
    const id = (await this.children())[nth - 1]?.id ?? "";
    await worker.finish(await worker.lease(id), ending);
    await until("the end of the child run is told", 10_000, async () => {
      const { db } = worker.server;
      return (await db.query(sql`SELECT FROM awaited_endings`)).length === 0;
    });
    await worker.renew();
  }

  /** After this long the server has something to do for the run. */
  at(ms: number, worker: TestWorker, then?: () => void): void {
    this.#times ??= worker.timers.place();
    this.#times.after(ms, () => {
      worker.due += 1;
      then?.();
    });
  }

  /** The server has taken a wait that settles after this long at the latest. */
  ask(wait: AskedWait, ms: number | null, worker: TestWorker): void {
    const { position } = wait;
    this.asked.set(position, wait);
    if (ms !== null) this.at(ms, worker, () => this.#over.add(position));
  }

  /** The run's command ends, once the run has started it. @returns the command's id. */
  async endExec(ending: ExecEnding): Promise<string> {
    const { workspaces } = await testWorker();
    const id = await this.#execId();
    await workspaces.end((await this.started()).id, id, ending);
    return id;
  }

  /** The run's command begins, once the run has asked for it. @returns the command's id. */
  async beginExec(): Promise<string> {
    const { workspaces } = await testWorker();
    const id = await this.#execId();
    await workspaces.start((await this.started()).id, id);
    return id;
  }

  async #execId(): Promise<string> {
    await until("the run has started a command", 10_000, async () =>
      (await this.journal()).some(({ kind }) => kind === "exec"),
    );
    return this.effectId("exec");
  }

  /** It has ended: no time means anything to it. */
  end(): void {
    this.#times?.end();
  }

  /** Waits that are not over, as far as anybody was told. */
  pending(): AskedWait[] {
    const isOver = (position: number): boolean => this.told.has(position) || this.#over.has(position);
    return [...this.asked.values()].filter(({ position }) => !isOver(position));
  }

  /** The id of the token, record or child run of the nth call of that kind, from 1. */
  async effectId(kind: JournalEntry["kind"], nth = 1): Promise<string> {
    const entries = (await this.journal()).filter((entry) => entry.kind === kind);
    const entry = entries[nth - 1];
    assert.ok(entry !== undefined, `The journal has no ${kind} number ${nth}.`);
    return (entry.value as { id: string }).id;
  }

  /** Whether a worker holds it or can take it. */
  async isReady(): Promise<boolean> {
    const { db } = (await testWorker()).server;
    const [row] = await db.query<{ ready: boolean }>(sql`
      SELECT status <> 'waiting' AS ready FROM executions
      WHERE run_id = ${decodeId("run", (await this.started()).id)}`);
    return row?.ready === true;
  }

  /** Lets time pass until the wait is over: a timer resolves, and everything else times out. */
  async passWait(position: number): Promise<void> {
    const worker = await testWorker();
    const { db } = worker.server;
    const [row] = await db.query<{ ms: number }>(sql`
      SELECT extract(epoch FROM timeout_at)::float8 * 1000 AS ms FROM run_waits
      WHERE run_id = ${decodeId("run", (await this.started()).id)} AND position = ${position} AND status = 'pending'`);
    assert.ok(row !== undefined, `There is no pending wait at ${position}.`);
    await worker.pass(Math.ceil(row.ms) - worker.now());
  }

  /** The journal and the waits have no places, as those of old SDKs. */
  async forgetPlaces(): Promise<void> {
    const { db } = (await testWorker()).server;
    const runId = decodeId("run", (await this.started()).id);
    await db.query(sql`UPDATE run_journal SET place = NULL WHERE run_id = ${runId}`);
    await db.query(sql`UPDATE run_waits SET place = NULL WHERE run_id = ${runId}`);
  }

  /** Asks for the end of the run, and the worker hears of it. */
  async cancel(): Promise<void> {
    await this.call("POST", `/v1/runs/${(await this.started()).id}/cancel`);
    await (await testWorker()).renew();
  }

  async completeToken(id: string, data: unknown): Promise<void> {
    await this.call("POST", `/v1/tokens/${id}/complete`, { data });
    await (await testWorker()).renew();
  }
}
