// Ready runs of many environments, as a large installation has them, and claims of them by the server's own operation.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { decodeId, type Uuid } from "@keelson/contract";
import {
  claimExecutions,
  type ClaimContext,
  type Claimed,
} from "../../src/core/executions/claim-executions.ts";
import { createClaimStarts } from "../../src/core/executions/claim-starts.ts";
import { listLeases } from "../../src/core/executions/execution-reads.ts";
import type { LeasedExecution } from "../../src/core/executions/execution.ts";
import { createReadyFronts } from "../../src/core/executions/ready-fronts.ts";
import { createKnownRuns, type KnownRuns } from "../../src/core/executions/known-runs.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { createLiveIds, type LiveIds } from "../../src/live-ids.ts";
import { createUuidGenerator, type NewUuid } from "../../src/uuid.ts";
import { recordOwnQueries, type RecordedQuery } from "./record-queries.ts";
import type { RunScene } from "./run-scene.ts";

const LEASE_MS = 15_000;

export interface ReadyRuns {
  readonly workerGroupId: Uuid<"wgrp">;
  readonly newUuid: NewUuid;
  /** As a server that has just started. @param isHeld whether somebody holds an old snapshot */
  begin(isHeld: boolean): ClaimContext & { knownRuns: KnownRuns; liveLeases: LiveIds };
  /** Copies of a run, ready, `runs` for each environment. */
  add(environmentIds: readonly string[], runs: number): Promise<void>;
  claim(context: ClaimContext, limit: number, db?: Queryable): Promise<LeasedExecution[]>;
  /** The same, and whether it says that there is nothing else. */
  claimed(context: ClaimContext, limit: number, db?: Queryable): Promise<Claimed>;
  /** The statements of a claim that gets `limit` runs, which is undone. */
  recordClaim(context: ClaimContext, limit: number): Promise<RecordedQuery[]>;
}

async function workerGroupOf(db: Queryable, environmentId: string): Promise<Uuid<"wgrp">> {
  const [group] = await db.query<{ id: Uuid<"wgrp"> }>(
    sql`SELECT worker_group_id AS id FROM environments WHERE id = ${decodeId("env", environmentId)}`,
  );
  if (group === undefined) throw new Error("The environment has no worker group.");
  return group.id;
}

export async function readyRunsOf(scene: RunScene): Promise<ReadyRuns> {
  const { db } = scene.server;
  const { run } = (await scene.leased()).execution;
  const workerGroupId = await workerGroupOf(db, run.environment_id);
  const newUuid = createUuidGenerator(scene.clock.now);
  const claimed: ReadyRuns["claimed"] = (context, limit, by = context.db) =>
    claimExecutions(
      { ...context, db: by },
      {
        workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
        workerGroupId,
        leaseRequestId: randomUUID(),
        limit,
        now: scene.clock.now(),
        leaseExpiresAt: scene.clock.now() + LEASE_MS,
        calledAt: scene.clock.now(),
        meets: [],
        // Where ready runs are known, a call for work does not ask whether there are any of these.
        workspaceRunsWait: context.readyFronts.areKnown(),
        isolatedRunsWait: context.readyFronts.areKnown(),
      },
    );
  const claim: ReadyRuns["claim"] = async (...of) => (await claimed(...of)).executions;
  return {
    workerGroupId,
    newUuid,
    claimed,
    begin: (isHeld) => {
      const knownRuns = createKnownRuns();
      const readyFronts = createReadyFronts({
        ...{ db, clock: scene.clock.now, knownRuns },
        noteHeld: () => undefined,
      });
      readyFronts.hold(isHeld);
      const liveLeases = liveLeasesOf(scene);
      liveLeases.hold(isHeld);
      return { db, newUuid, claimStarts: createClaimStarts(), readyFronts, knownRuns, liveLeases };
    },
    add: async (environmentIds, runs) => {
      const places = environmentIds.flatMap((id) => Array.from({ length: runs }, () => id));
      const ids = places.map(() => newUuid<"run">());
      await db.query(sql`
        WITH copies AS MATERIALIZED (
          SELECT * FROM unnest(${places}::uuid[], ${ids}::uuid[]) AS c (environment_id, id)
        ), filled AS (
          INSERT INTO runs SELECT n.* FROM copies c CROSS JOIN (SELECT * FROM runs LIMIT 1) r CROSS JOIN LATERAL
            jsonb_populate_record(NULL::runs, to_jsonb(r) || jsonb_build_object('environment_id', c.environment_id, 'id', c.id)) n
        )
        INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, limited, admitted,
          event_sequence, updated_at)
        SELECT environment_id, id, ${workerGroupId}, 'queued', true, 0, 'default', false, true, 1, now() FROM copies`);
      await db.query(sql`ANALYZE executions`);
    },
    claim,
    recordClaim: async (context, limit) => {
      const undone = new Error("undone");
      const statements = await recordOwnQueries(() =>
        db
          .transaction(async (tx) => {
            assert.equal((await claim(context, limit, tx)).length, limit);
            throw undone;
          })
          .catch((error: unknown) => assert.equal(error, undone)),
      );
      return statements.filter(({ text }) => text.includes("SKIP LOCKED"));
    },
  };
}

/** As a server knows them that has just started, and whether or not an old snapshot is held. */
export const liveLeasesOf = ({ server, clock }: RunScene): LiveIds =>
  createLiveIds({ clock: clock.now, list: (before, live) => listLeases(server.db, before, live) });
