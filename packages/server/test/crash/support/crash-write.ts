import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { Held, Json, Stage } from "./crash-stage.ts";
import { until } from "../../support/until.ts";

/** One write that is to happen once, whatever fails in the middle of it. */
export interface Act {
  /** Does it, again and again until it is answered, or waits until a loop has done it. @returns what a repeat must give too. */
  send(): Promise<unknown>;
  /** Looks at what came of it, and at whether what hangs on it goes on. */
  verify?(): Promise<void>;
}

export interface Write {
  readonly name: string;
  /** Makes what the write needs, without disturbance. */
  prepare(stage: Stage): Promise<Act>;
}

const GOES_ON_MS = 30_000;

export const goesOn = (what: string, holds: () => Promise<boolean>): Promise<void> =>
  until(what, GOES_ON_MS, holds);

export const newKey = (): string => randomUUID();

/** The UUID of an id. */
export function uuidOf(prefix: "run" | "sess" | "tok" | "pat", id: string): string {
  const uuid = decodeId(prefix, id);
  assert.ok(uuid !== null, id);
  return uuid;
}

/** @returns a session whose first run is there and not leased. */
export const openSession = (stage: Stage, body: object = {}): Promise<Json> =>
  stage.make("/api/sessions", "actor" in body ? body : { task: "talk", ...body });

export const startRun = async (stage: Stage, task = "work"): Promise<string> =>
  (await stage.make(`/v1/tasks/${task}/start`)).id as string;

export async function beginRun(stage: Stage): Promise<Held> {
  return stage.begin(await startRun(stage));
}

/** @returns a session whose run has begun. */
export async function beginSession(stage: Stage, body: object = {}): Promise<{ session: Json; held: Held }> {
  const session = await openSession(stage, body);
  return { session, held: await stage.begin(session.current_run_id) };
}

/** @returns a session whose run has ended, and which knows it. */
export async function idleSession(stage: Stage): Promise<Json> {
  const { session, held } = await beginSession(stage);
  await done(stage, held.operation("release", { outcome: "succeeded" }));
  await goesOn("the session is idle", async () => (await sessionRow(stage, session.id)).idle);
  return session;
}

/** Reports, and all must be taken. @returns the results. */
export async function done(stage: Stage, ...operations: Json[]): Promise<Json[]> {
  const results = await stage.report(...operations);
  for (const result of results) assert.equal(result.status, 200, JSON.stringify(result));
  return results;
}

/** Has a run wait, first in memory, then, when asked for, suspended. */
export async function park(
  stage: Stage,
  held: Held,
  wait: object,
  form: "parked" | "suspended" = "suspended",
): Promise<void> {
  const waits = [{ position: 1, name: "wait", ...wait }];
  const [{ result }] = (await done(stage, held.operation("waits", { waits, parked: true }))) as [Json];
  assert.equal(result.parked, true);
  if (form === "suspended") await done(stage, held.operation("release", { outcome: "suspended" }));
}

/** The run was suspended, and goes on with this outcome of its wait; then it ends. */
export async function resumesWith(stage: Stage, runId: string, status: string): Promise<void> {
  const held = await stage.begin(runId);
  assert.equal(await waitStatus(stage, runId), status);
  await done(
    stage,
    held.operation("steps", { entries: [{ position: 1, kind: "wait", name: "wait" }] }),
    held.operation("release", { outcome: "succeeded" }),
  );
}

export async function waitStatus(stage: Stage, runId: string): Promise<string | null> {
  const [row] = await stage.site.db.query<{ status: string }>(
    sql`SELECT status FROM run_waits WHERE run_id = ${uuidOf("run", runId)} AND position = 1`,
  );
  return row?.status ?? null;
}

export async function liveStatus(stage: Stage, runId: string): Promise<string | null> {
  const [row] = await stage.site.db.query<{ status: string }>(
    sql`SELECT status FROM executions WHERE run_id = ${uuidOf("run", runId)}`,
  );
  return row?.status ?? null;
}

export async function sessionRow(
  stage: Stage,
  sessionId: string,
): Promise<{ status: string; turn: number; idle: boolean }> {
  const [row] = await stage.site.db.query<{ status: string; turn: number; idle: boolean }>(
    sql`SELECT status, turn, idle FROM sessions WHERE id = ${uuidOf("sess", sessionId)}`,
  );
  assert.ok(row !== undefined);
  return row;
}

/** Counts the rows of a table that a test has marked with a tag. */
export async function countTagged(
  stage: Stage,
  table: "sessions" | "runs" | "tokens",
  tag: string,
): Promise<number> {
  const tags = [tag];
  const counted = {
    sessions: sql`SELECT count(*) AS count FROM sessions WHERE tags @> ${tags}::text[]`,
    runs: sql`SELECT count(*) AS count FROM runs WHERE tags @> ${tags}::text[]`,
    tokens: sql`SELECT count(*) AS count FROM tokens WHERE tags @> ${tags}::text[]`,
  };
  const [row] = await stage.site.db.query<{ count: number }>(counted[table]);
  return Number(row?.count);
}

/** The data of a stream's records, in their order. */
export async function dataOf(stage: Stage, sessionId: string, stream: string): Promise<unknown[]> {
  const rows = await stage.site.db.query<{ data: string }>(sql`
    SELECT r.data FROM streams t JOIN stream_records r ON r.environment_id = t.environment_id AND r.stream_id = t.id
    WHERE t.session_id = ${uuidOf("sess", sessionId)} AND t.name = ${stream} ORDER BY r.sequence`);
  return rows.map(({ data }) => JSON.parse(data) as unknown);
}

/** A callback's URL begins with the address of the server that says it, when none has been configured for all. */
export const sameAnywhere = ({ callback_url: url, ...token }: Json): Json => ({
  ...token,
  callback: new URL(url).pathname,
});
