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
  const followers = await follow(options, lease.runId);
  let writtenChunks = 0;

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
    writtenChunks += CHUNKS;
  };
  const steps = [
    ...Array.from({ length: CALLERS }, () => start),
    ...Array.from({ length: BATCH_CALLERS }, () => startMany),
    log,
  ];
  // What is still on its way to followers is part of the flood: it would be measured as what is without one.
  obey(steps, () => Promise.all(followers.map(({ has }) => has(writtenChunks))));
}

function poster(url: string, credential: string): (path: string, body: object) => Promise<Json> {
  const call = createCaller(credential);
  return async (path, body) => {
    const answer = await call(url, "POST", path, { body, timeoutMs: TIMEOUT_MS });
    if (answer.status >= 400) throw new Error(JSON.stringify(answer.body));
    return answer.body as Json;
  };
}

interface Follower {
  /** Resolves when it was given so many chunks. */
  has(chunks: number): Promise<void>;
}

async function follow({ url, credential }: FloodOptions, runId: string): Promise<Follower[]> {
  const agent = new Agent({ maxSockets: FOLLOWERS });
  const headers = { authorization: `Bearer ${credential}`, accept: "text/event-stream" };
  const one = (): Promise<Follower> =>
    new Promise((resolve, reject) => {
      get(`${url}/api/runs/${runId}/logs?follow=1`, { agent, headers }, (response) => {
        if (response.statusCode !== 200)
          return reject(new Error(`followers are answered ${response.statusCode}`));
        let last = 0;
        let whenHas = { chunks: Number.POSITIVE_INFINITY, resolve: (): void => undefined };
        let tail: Buffer = Buffer.alloc(0);
        response.on("data", (bytes: Buffer) => {
          had.streamedBytes += bytes.length;
          last = lastId(bytes) ?? lastId(Buffer.concat([tail, bytes.subarray(0, ID_BYTES)])) ?? last;
          tail = Buffer.concat([tail, bytes.subarray(-ID_BYTES)]).subarray(-ID_BYTES);
          if (last >= whenHas.chunks) whenHas.resolve();
        });
        resolve({
          has: (chunks) =>
            new Promise((has) => {
              whenHas = { chunks, resolve: has };
              if (last >= chunks) has();
            }),
        });
      }).on("error", reject);
    });
  return Promise.all(Array.from({ length: FOLLOWERS }, one));
}

/** The id of the last frame that begins in the bytes, which is the number of a chunk; undefined when none does. */
function lastId(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf(ID);
  const text = at < 0 ? "" : bytes.toString("latin1", at + ID.length, at + ID_BYTES);
  return /^([0-9]+)\n/.test(text) ? Number.parseInt(text, 10) : undefined;
}
const ID = "id: ";
/** No line with an id is longer. */
const ID_BYTES = 32;

/** Does the steps again and again while it is told to go, and says what it had when all of it is over. */
function obey(steps: readonly (() => Promise<void>)[], isOver: () => Promise<unknown>): void {
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
    const over = Promise.all(running).then(isOver);
    void over.then(() => {
      process.send?.(had satisfies Flooded);
      Object.assign(had, { startMs: [], starts: 0, logBytes: 0, streamedBytes: 0 });
    });
  });
  process.send?.("ready");
}
