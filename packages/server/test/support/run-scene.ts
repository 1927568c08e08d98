// A server with deployed tasks, a clock and a worker that a test moves by hand.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { CREDENTIAL_KINDS, decodeId, encodeId, formatCredential, PERMISSIONS } from "@keelson/contract";
import { credentialDigest } from "../../src/core/credentials/digest.ts";
import { sql } from "../../src/db/sql.ts";
import {
  startApiServer,
  type Answer,
  type ApiServer,
  type ApiServerOptions,
  type CallOptions,
} from "./api-server.ts";
import { createReadyDeployment, promote, type Manifest } from "./deploy.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "./raw-worker.ts";
import { readEvents, type ServerSentEvent } from "./read-events.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface RunScene {
  readonly server: ApiServer;
  readonly clock: TestClock;
  readonly worker: RawWorker;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Makes the tasks current. @returns the deployment. */
  deploy(manifest: Manifest): Promise<Json>;
  /** Starts a task, which must be accepted. @returns the run as created. */
  start(task: string, body?: object): Promise<Json>;
  /** Starts a run of the task `plain`, which its worker, or this one, leases. */
  leased(body?: object, by?: RawWorker): Promise<HeldLease>;
  get(runId: string): Promise<Json>;
  /** What it has written, a text for each chunk. */
  logsOf(runId: string): Promise<string[]>;
  cancel(runId: string): Promise<Answer>;
  /** Cancels what is live, so that no test leaves a run for the next one's worker. */
  cancelAll(): Promise<void>;
  /** Kinds of all events so far. */
  eventKinds(runId: string): Promise<string[]>;
  /** Waits for an event of the kind, the first one after `after`. */
  happens(runId: string, kind: string, after?: string): Promise<ServerSentEvent>;
  stop(): Promise<void>;
}

/** Stop it in an `after` hook. */
export async function startRunScene(manifest: Manifest, options: ApiServerOptions = {}): Promise<RunScene> {
  const clock = createTestClock();
  const server = await startApiServer({ clock: clock.now, ...options });
  const worker = await enrollWorker(server);
  const scene = sceneOf(server, clock, worker, () => server.stop());
  await scene.deploy(manifest);
  return scene;
}

function sceneOf(
  server: ApiServer,
  clock: TestClock,
  worker: RawWorker,
  stop: () => Promise<void>,
  apiKey = server.credentials.api_key,
): RunScene {
  const call: RunScene["call"] = (method, path, options = {}) =>
    server.call(method, path, { as: apiKey, ...options });
  const readJson = async (path: string): Promise<Json> => {
    const answer = await call("GET", path);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const start: RunScene["start"] = async (task, body = {}) => {
    const answer = await call("POST", `/v1/tasks/${task}/start`, { body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  };
  return {
    server,
    clock,
    worker,
    call,
    start,
    leased: async (body, by = worker) => {
      const run = await start("plain", body);
      const lease = await by.takeOne();
      assert.equal(lease.runId, run.id);
      return lease;
    },
    logsOf: async (runId) =>
      (await readJson(`/v1/runs/${runId}/logs`)).logs.map(({ data }: Json) =>
        Buffer.from(data, "base64").toString(),
      ),
    deploy: async (manifest) => {
      const view = { ...server, call };
      return promote(view, (await createReadyDeployment(view, worker.token, manifest)).id);
    },
    get: (runId) => readJson(`/v1/runs/${runId}`),
    cancel: (runId) => call("POST", `/v1/runs/${runId}/cancel`),
    cancelAll: async () => {
      for (;;) {
        const { runs } = await readJson(
          "/v1/runs?status=queued&status=retry_delayed&status=running&status=waiting&limit=200",
        );
        if (runs.length === 0) break;
        await Promise.all(runs.map(({ id }: Json) => call("POST", `/v1/runs/${id}/cancel`)));
      }
      await worker.releaseAll();
    },
    eventKinds: async (runId) =>
      (await readJson(`/v1/runs/${runId}/events?limit=200`)).events.map(({ kind }: Json) => kind),
    happens: async (runId, kind, after = "0") => {
      const events = await readEvents(server, `/api/runs/${runId}/events?follow=1&cursor=${after}`, {
        as: apiKey,
        until: ({ data }) => data.kind === kind,
      });
      const last = events.at(-1) as ServerSentEvent;
      assert.equal(last.data.kind, kind, `the run ended as ${last.data.status}`);
      return last;
    },
    stop,
  };
}

/** The same server and worker seen from its other environment, `production`. */
export async function productionOf(scene: RunScene): Promise<RunScene> {
  const { server } = scene;
  const [environment] = await server.db.query<{ id: string }>(
    sql`SELECT id FROM environments WHERE slug = 'production'`,
  );
  assert.ok(environment !== undefined);
  const apiKey = formatCredential(CREDENTIAL_KINDS.apiKey, randomBytes(96));
  await server.db.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    VALUES (${credentialDigest(apiKey)}, gen_random_uuid(), ${environment.id}, 'production', ${[...PERMISSIONS]}::text[])`);
  return sceneOf(server, scene.clock, scene.worker, () => Promise.resolve(), apiKey);
}

/** An id of the right form that stands for nothing. */
export const absentRunId = (runId: string): string => {
  const uuid = decodeId("run", runId);
  assert.ok(uuid !== null);
  return encodeId("run", `${uuid.slice(0, -4)}0000`);
};
