import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment, Run, RunCounts, StartBatch, StartBatchResult } from "@keelson/contract";
import { BUNDLE, BUNDLE_DIGEST, DEPLOYMENT } from "./bundle.ts";

/** Calls of the API that prepare and check a measurement; never what is measured. */
export type Api = {
  /** One request; a body of bytes goes as it is, any other as JSON. Throws on every answer but 2xx. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  start(task: string, payload: unknown): Promise<Run>;
  run(id: string): Promise<Run>;
  counts(): Promise<RunCounts["counts"]>;
};

export function openApi(url: string, apiKey: string): Api {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && {
          "content-type": isBytes ? "application/octet-stream" : "application/json",
        }),
      },
      ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path} was answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  };
  return {
    call,
    start: (task, payload) => call("POST", `/v1/tasks/${task}/start`, { payload }),
    run: (id) => call("GET", `/v1/runs/${id}`),
    counts: async () => (await call<RunCounts>("GET", "/api/runs/counts")).counts,
  };
}

/** Uploads the bundle, waits for the dry boot by a worker and promotes. Needs an agent. */
export async function deployBundle(api: Api): Promise<void> {
  await api.call("PUT", `/v1/deployment-bundles/${BUNDLE_DIGEST}`, BUNDLE);
  const { id } = await api.call<Deployment>("POST", "/v1/deployments", DEPLOYMENT);
  await waitFor("the deployment to be ready", 20_000, async () => {
    const { status, error } = await api.call<Deployment>("GET", `/v1/deployments/${id}`);
    if (status === "failed") throw new Error(`the deployment failed: ${error?.message}`);
    return status === "ready";
  });
  await api.call("POST", `/v1/deployments/${id}/promote`);
}

/** Starts so many runs in batches of 500 and returns their ids in order. `fieldsOf` adds to the start of each. */
export async function startMany(
  api: Api,
  task: string,
  payload: unknown,
  count: number,
  fieldsOf: (index: number) => Partial<StartBatch["starts"][number]> = () => ({}),
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const starts = Array.from({ length: Math.min(500, count - ids.length) }, (_, index) => ({
      ...{ task, payload },
      ...fieldsOf(ids.length + index),
    }));
    const { results } = await api.call<StartBatchResult>("POST", "/v1/tasks/start-batch", { starts });
    for (const { run, error } of results) {
      if (run === null) throw new Error(`a start of a batch was refused: ${JSON.stringify(error)}`);
      ids.push(run.id);
    }
  }
  return ids;
}

/** The newest runs of the environment, at least so many if there are. */
export async function listNewestRuns(api: Api, count: number): Promise<Run[]> {
  const runs: Run[] = [];
  for (let cursor: string | null = ""; cursor !== null && runs.length < count;) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { runs: Run[]; next_cursor: string | null } = await api.call(
      "GET",
      `/v1/runs?limit=200${query}`,
    );
    runs.push(...page.runs);
    cursor = page.next_cursor;
  }
  return runs;
}

/** Waits until so many runs have succeeded in all; throws when one ended otherwise. */
export async function waitForSucceeded(api: Api, expected: number, timeoutMs: number): Promise<void> {
  await waitFor(`${expected} runs to have succeeded`, timeoutMs, async () => {
    const { succeeded, failed, system_failed, expired, cancelled } = await api.counts();
    const ended = failed + system_failed + expired + cancelled;
    if (ended > 0) throw new Error(`${ended} runs ended otherwise than succeeded`);
    return succeeded >= expected;
  });
}

/** Waits until no run is queued or running, so that what follows is measured alone. */
export async function waitForIdle(api: Api, timeoutMs: number): Promise<void> {
  await waitFor("all runs to have ended", timeoutMs, async () => {
    const { queued, running, retry_delayed } = await api.counts();
    return queued + running + retry_delayed === 0;
  });
}

/** Waits until the run has ended and returns it; throws when it did not succeed. */
export async function waitForEnd(api: Api, id: string, timeoutMs: number): Promise<Run> {
  let run = await api.run(id);
  await waitFor(`run ${id} to end`, timeoutMs, async () => {
    if (run.finished_at === null) run = await api.run(id);
    return run.finished_at !== null;
  });
  if (run.status !== "succeeded")
    throw new Error(`run ${id} ended as ${run.status}: ${JSON.stringify(run.failure)}`);
  return run;
}

/** Asks every 20 ms until the answer is yes. */
export async function waitFor(what: string, timeoutMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(20);
  }
}
