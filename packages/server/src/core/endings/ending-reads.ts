import type { TerminalRunStatus, Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import type { ExecutionKey } from "../executions/execution.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

const ofEndingsLoop = (now: number): Sql =>
  isNotSetAside("settle-endings", sql`a.environment_id`, sql`a.run_id`, now);

/** A condition: somebody is to be told of an end. */
export const hasAwaitedEndings = (now: number): Sql =>
  sql`EXISTS (SELECT FROM awaited_endings a WHERE ${ofEndingsLoop(now)})`;

/** A run that has ended, and somebody is to be told of it. */
export type Ending = ExecutionKey & {
  sessionId: Uuid<"sess"> | null;
  workspaceId: Uuid<"ws"> | null;
  status: TerminalRunStatus;
  /** JSON text. */
  failure: string | null;
  deploymentId: Uuid<"dep">;
  finishedAt: number;
};

const endings = (ofSessions: boolean, now: number, limit: number): Sql => sql`
  SELECT a.environment_id, a.run_id, r.session_id,
    r.workspace_id, r.deployment_id, x.status, x.failure, x.finished_at
  FROM awaited_endings a
  ${joinByKey("runs", "r", sql`r.environment_id = a.environment_id AND r.id = a.run_id`, "session_id, workspace_id, deployment_id")}
  ${joinByKey("run_results", "x", sql`x.environment_id = a.environment_id AND x.run_id = a.run_id`, "status, failure, finished_at")}
  WHERE (r.session_id IS NOT NULL) = ${ofSessions}::boolean AND ${ofEndingsLoop(now)}
  LIMIT ${limit}`;

/** Of runs without a session. Those that another server tells of are left to it. */
export const lockEndings = (tx: Tx, now: number, limit: number): Promise<Ending[]> =>
  tx.query<Ending>(sql`${endings(false, now, limit)} FOR UPDATE OF a SKIP LOCKED`);

/** Of turns of sessions. */
export const listSessionEndings = (db: Queryable, now: number, limit: number): Promise<Ending[]> =>
  db.query<Ending>(endings(true, now, limit));
