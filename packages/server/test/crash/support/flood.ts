// A process that takes all it can get of one environment: it is told to go and to stop, and says what it had.

import { Agent, get } from "node:http";
import { constants, setPriority } from "node:os";
import { createCaller } from "./caller.ts";
import { heldLease } from "../../support/raw-worker.ts";

export interface FloodOptions {
  readonly url: string;
  readonly credential: string;
  readonly worker: string;
  readonly task: string;
}

export interface Flooded {
  /** Milliseconds of each single start. */
  readonly startMs: number[];
  readonly starts: number;
  readonly logBytes: number;
  readonly streamedBytes: number;
}

const CALLERS = 100;
const BATCH_CALLERS = 2;
const BATCH = 200;
const FOLLOWERS = 100;
const TIMEOUT_MS = 60_000;
const CHUNKS = 20;
const LINES = Buffer.from("The quick brown fox jumps over the lazy dog.\n".repeat(40));

// What its own work costs the machine is not what it costs the others on the server.
setPriority(constants.priority.PRIORITY_LOW);

type Json = Record<string, unknown>;

process.once("message", (options: FloodOptions) => void flood(options));

const had = { startMs: [] as number[], starts: 0, logBytes: 0, streamedBytes: 0 };

async function flood(options: FloodOptions): Promise<void> {
  const { url, credential, worker, task } = options;
  const post = poster(url, credential);
  const work = poster(`${url}/worker/v1/executions`, worker);
  // One run that writes, and whom many follow.
  await post(`/v1/tasks/${task}/start`, {});
  const leased = await work("/lease", { lease_request_id: "flood", limit: 1, wait: "20s" });
  const lease = heldLease((leased["executions"] as unknown[])[0]);
  await work("/report", { operations: [lease.operation("start")] });
  await follow(options, lease.runId);

  const later = { delay: "1h" };
  const start = async (): Promise<void> => {
    const begun = performance.now();
    await post(`/v1/tasks/${task}/start`, later);
    had.startMs.push(performance.now() - begun);
    had.starts += 1;
  };
  const startMany = async (): Promise<void> => {
    const starts = Array.from({ length: BATCH }, () => ({ task, ...later }));
    await post("/v1/tasks/start-batch", { starts });
    had.starts += BATCH;
  };
  const log = async (): Promise<void> => {
    const chunk = { stream: "stdout", data: LINES.toString("base64"), at: new Date().toISOString() };
    const chunks = Array.from({ length: CHUNKS }, () => chunk);
    await work("/report", { operations: [lease.operation("logs", { chunks })] });
    had.logBytes += CHUNKS * LINES.length;
  };
  obey([
    ...Array.from({ length: CALLERS }, () => start),
    ...Array.from({ length: BATCH_CALLERS }, () => startMany),
    log,
  ]);
}

function poster(url: string, credential: string): (path: string, body: object) => Promise<Json> {
  const call = createCaller(credential);
  return async (path, body) => {
    const answer = await call(url, "POST", path, { body, timeoutMs: TIMEOUT_MS });
    if (answer.status >= 400) throw new Error(JSON.stringify(answer.body));
    return answer.body as Json;
  };
}

async function follow({ url, credential }: FloodOptions, runId: string): Promise<void> {
  const agent = new Agent({ maxSockets: FOLLOWERS });
  const headers = { authorization: `Bearer ${credential}`, accept: "text/event-stream" };
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      get(`${url}/api/runs/${runId}/logs?follow=1`, { agent, headers }, (response) => {
        if (response.statusCode !== 200)
          return reject(new Error(`followers are answered ${response.statusCode}`));
        response.on("data", (bytes: Buffer) => void (had.streamedBytes += bytes.length));
        resolve();
      }).on("error", reject);
    });
  await Promise.all(Array.from({ length: FOLLOWERS }, one));
}

/** Does the steps again and again while it is told to go. */
function obey(steps: readonly (() => Promise<void>)[]): void {
  const state = { going: false };
  let running: Promise<void>[] = [];
  const repeat = async (step: () => Promise<void>): Promise<void> => {
    while (state.going) await step();
  };
  process.on("message", (told: "go" | "stop") => {
    state.going = told === "go";
    if (state.going) {
      running = steps.map(repeat);
      return;
    }
    void Promise.all(running).then(() => {
      process.send?.(had satisfies Flooded);
      Object.assign(had, { startMs: [], starts: 0, logBytes: 0, streamedBytes: 0 });
    });
  });
  process.send?.("ready");
}
