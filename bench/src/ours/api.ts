import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment, Run, RunCounts, StartBatch, StartBatchResult } from '@keelson/contract';
import { BUNDLE, BUNDLE_DIGEST, DEPLOYMENT } from './bundle.ts';

/** Calls of the API that prepare and check a measurement; never what is measured. Throws on every answer but 2xx. */
export type Api = ReturnType<typeof openApi>;

export function openApi(url: string, apiKey: string) {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
      },
      ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  };

  const api = {
    call,
    start: (task: string, payload: unknown) => call<Run>('POST', `/v1/tasks/${task}/start`, { payload }),
    run: (id: string) => call<Run>('GET', `/v1/runs/${id}`),
    counts: async () => (await call<RunCounts>('GET', '/api/runs/counts')).counts,

    /** Uploads the bundle, waits for the worker's dry boot and promotes. Needs an agent. */
    async deploy(): Promise<void> {
      await call('PUT', `/v1/deployment-bundles/${BUNDLE_DIGEST}`, BUNDLE);
      const { id } = await call<Deployment>('POST', '/v1/deployments', DEPLOYMENT);
      await waitFor('the deployment to be ready', 20_000, async () => {
        const deployment = await call<Deployment>('GET', `/v1/deployments/${id}`);
        if (deployment.status === 'failed') throw new Error(`the deployment failed: ${deployment.error?.message}`);
        return deployment.status === 'ready';
      });
      await call('POST', `/v1/deployments/${id}/promote`);
    },

    /** Starts so many runs in batches of 500 and returns their ids in order. */
    async startMany(task: string, payload: unknown, count: number): Promise<string[]> {
      const ids: string[] = [];
      while (ids.length < count) {
        const starts: StartBatch['starts'] = Array.from({ length: Math.min(500, count - ids.length) }, () => ({ task, payload }));
        const { results } = await call<StartBatchResult>('POST', '/v1/tasks/start-batch', { starts });
        for (const { run, error } of results) {
          if (run === null) throw new Error(`a start of a batch was refused: ${JSON.stringify(error)}`);
          ids.push(run.id);
        }
      }
      return ids;
    },

    /** The newest runs of the environment. */
    async listRuns(count: number): Promise<Run[]> {
      const runs: Run[] = [];
      for (let cursor: string | null = ''; cursor !== null && runs.length < count; ) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page: { runs: Run[]; next_cursor: string | null } = await call('GET', `/v1/runs?limit=200${query}`);
        runs.push(...page.runs);
        cursor = page.next_cursor;
      }
      return runs;
    },

    /** Waits until so many runs have succeeded in all; throws when one ended otherwise. */
    async waitForSucceeded(expected: number, timeoutMs: number): Promise<void> {
      await waitFor(`${expected} runs to have succeeded`, timeoutMs, async () => {
        const { succeeded, failed, system_failed, expired, cancelled } = await api.counts();
        const ended = failed + system_failed + expired + cancelled;
        if (ended > 0) throw new Error(`${ended} runs ended otherwise than succeeded`);
        return succeeded >= expected;
      });
    },
  };
  return api;
}

/** Asks every 20 ms until the answer is yes. */
export async function waitFor(what: string, timeoutMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(20);
  }
}
