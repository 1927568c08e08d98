import type { RunCounts } from "@keelson/contract";
import type { RunMetricsWindow } from "@keelson/contract/plain";
import type {
  EntrypointMetricsList,
  Run,
  RunCall,
  RunEvent,
  RunLogChunk,
  RunLogSnapshot,
  RunMetrics,
  Usage,
} from "./resources.ts";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import type { CamelCased, Shape } from "./camel-cased.ts";
import { followStream, type FollowOptions } from "./follow-stream.ts";
import { fetchPage, listOf, pageOf } from "./fetch-page.ts";
import { createBulkActionsApi, type BulkActionsApi } from "./bulk-actions.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { readUsage } from "./read-usage.ts";
import { runFiltersOf, type RunQuery } from "./run-query.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { waitForRun, type WaitOptions } from "./wait-for-run.ts";
import {
  entrypointMetricsListShape,
  runCallShape,
  runEventShape,
  runLogChunkShape,
  runLogSnapshotShape,
  runMetricsShape,
  runShape,
} from "./wire-shapes.ts";

/** Options of `runs.events()` and `runs.logs()`. */
export type FeedOptions = FollowOptions & {
  /** Follow until the run has ended, and do not stop at the last entry. Default false. */
  follow?: boolean;
};

/** Filters of `runs.calls()`. */
export type RunCallQuery = PageQuery & {
  /** Only the call at this position, 1 for the first. */
  position?: number;
};

/** What `runs.metrics()` is of. */
export type RunMetricsQuery = {
  /** How far back. Default `24h`. */
  window?: RunMetricsWindow;
  /** Only runs of the task with this declared id. */
  task?: string;
  /** Only runs of the actor with this declared id. */
  actor?: string;
};

/** What `runs.entrypointMetrics()` is of. */
export type EntrypointMetricsQuery = {
  /** How far back. Default `24h`. */
  window?: RunMetricsWindow;
  /** Only tasks, or only actors. */
  kind?: "task" | "actor";
};

/** `client.runs`. */
export type RunsApi = {
  /**
   * One run. Rejects with a NotFoundError when it does not exist, or was dropped.
   *
   * @example
   * ```ts
   * const { status, output } = await client.runs.get("run_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Run>;
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const run of client.runs.list({ task: "report", status: "failed" })) console.log(run.id);
   * ```
   */
  list(query?: RunQuery, options?: RequestOptions): PagedList<Run>;
  /**
   * The number of runs in each status.
   *
   * @example
   * ```ts
   * const { queued, running } = await client.runs.counts();
   * ```
   */
  counts(options?: RequestOptions): Promise<RunCounts["counts"]>;
  /**
   * Ended runs by minute or hour: outcomes, failure rate, and percentiles of queue time and duration in milliseconds, each within
   * 5 % and 1 ms. With neither `task` nor `actor` also queue depth and worker slots. A run counts some seconds after its end.
   *
   * @example
   * ```ts
   * const { total } = await client.runs.metrics({ window: "1h", task: "report" });
   * console.log(total.ended, total.failureRate, total.durationMs?.p95);
   * ```
   */
  metrics(query?: RunMetricsQuery, options?: RequestOptions): Promise<RunMetrics>;
  /**
   * The same figures of the whole window for each task and actor, with its newest run.
   *
   * @example
   * ```ts
   * const { entrypoints } = await client.runs.entrypointMetrics({ window: "7d", kind: "task" });
   * for (const { task, ended, failureRate } of entrypoints) console.log(task, ended, failureRate);
   * ```
   */
  entrypointMetrics(query?: EntrypointMetricsQuery, options?: RequestOptions): Promise<EntrypointMetricsList>;
  /**
   * Waits for the end of the run, and resolves with the run in any final status. See `WaitOptions`.
   *
   * @example
   * ```ts
   * const run = await client.runs.wait("run_01k…", { timeout: "1m" });
   * ```
   */
  wait<R extends Run = Run>(run: string | R, options?: WaitOptions): Promise<R>;
  /**
   * Oldest first.
   *
   * @example
   * ```ts
   * for await (const event of client.runs.events("run_01k…", { follow: true })) console.log(event.kind);
   * ```
   */
  events(id: string, options?: FeedOptions): AsyncGenerator<RunEvent>;
  /**
   * The durable calls whose outcomes are kept, in the order in which the code saw them: what each step gave, what each
   * wait got.
   *
   * @example
   * ```ts
   * for await (const call of client.runs.calls("run_01k…")) console.log(call.position, call.name, call.value);
   * ```
   */
  calls(id: string, query?: RunCallQuery, options?: RequestOptions): PagedList<RunCall>;
  /**
   * What its calls of models used, as its code has said so by `ctx.usage.add()`. Runs that it has started have their own.
   *
   * @example
   * ```ts
   * const { inputTokens, outputTokens, costUsd, models } = await client.runs.usage("run_01k…");
   * ```
   */
  usage(id: string, options?: RequestOptions): Promise<Usage>;
  /**
   * The chunks of both streams in the order they were written; `decodeBase64` gives a chunk's bytes.
   *
   * @example
   * ```ts
   * import { decodeBase64 } from "@keelson/sdk/client";
   *
   * for await (const chunk of client.runs.logs("run_01k…", { follow: true })) terminal.write(decodeBase64(chunk.data));
   * ```
   */
  logs(id: string, options?: FeedOptions): AsyncGenerator<RunLogChunk>;
  /**
   * The last 256 KiB of each stream.
   *
   * @example
   * ```ts
   * const snapshot = await client.runs.logSnapshot("run_01k…");
   * ```
   */
  logSnapshot(id: string, options?: RequestOptions): Promise<RunLogSnapshot>;
  /**
   * Requests the cancellation of the run, and resolves with the run.
   *
   * @example
   * ```ts
   * const run = await client.runs.cancel("run_01k…");
   * ```
   */
  cancel(id: string, options?: RequestOptions): Promise<Run>;
  /** Cancellations and replays of many runs. */
  bulkActions: BulkActionsApi;
};

/** The existing entries of a feed, page by page. */
async function* readFeed<T>(
  transport: Transport,
  shape: Shape<T>,
  path: string,
  plural: string,
  options: FollowOptions,
): AsyncGenerator<CamelCased<T>> {
  let cursor = options.cursor;
  for (;;) {
    const { items, nextCursor } = await fetchPage(transport, shape, path, plural, {
      query: { cursor, limit: 200 },
      ...(options.signal && { signal: options.signal }),
    });
    yield* items;
    if (nextCursor === null || items.length === 0) return;
    cursor = nextCursor;
  }
}

async function* followFeed<T>(
  transport: Transport,
  shape: Shape<T>,
  path: string,
  eventName: string,
  options: FollowOptions,
): AsyncGenerator<CamelCased<T>> {
  for await (const event of followStream(transport, path, options))
    if (event.event === eventName) yield transport.read(shape, event.data);
}

const createMetricsApi = (transport: Transport): Pick<RunsApi, "metrics" | "entrypointMetrics"> => ({
  metrics: ({ window, task, actor } = {}, options = {}) =>
    transport.ask(runMetricsShape, {
      method: "GET",
      path: "/v1/runs/metrics",
      query: { window, task, actor },
      ...options,
    }),
  entrypointMetrics: ({ window, kind } = {}, options = {}) =>
    transport.ask(entrypointMetricsListShape, {
      method: "GET",
      path: "/v1/runs/metrics/entrypoints",
      query: { window, kind },
      ...options,
    }),
});

export function createRunsApi(transport: Transport): RunsApi {
  const item = (id: string): string => `/v1/runs/${encodeURIComponent(id)}`;
  const live = (id: string, feed: string): string => `/api/runs/${encodeURIComponent(id)}/${feed}?follow=1`;
  return {
    get: (id, options = {}) => transport.ask(runShape, { method: "GET", path: item(id), ...options }),
    list: (query = {}, options = {}) =>
      listOf(
        transport,
        runShape,
        "/v1/runs",
        "runs",
        {
          ...pageOf(query),
          filters: runFiltersOf(query),
        },
        options,
      ),
    ...createMetricsApi(transport),
    counts: async (options = {}) =>
      ((await transport.request({ method: "GET", path: "/api/runs/counts", ...options })) as RunCounts)
        .counts,
    async wait<R extends Run>(run: string | R, options: WaitOptions = {}) {
      if (typeof run !== "string" && isTerminalRunStatus(run.status)) return run;
      return (await waitForRun(transport, typeof run === "string" ? run : run.id, options)) as R;
    },
    events: (id, { follow = false, ...options } = {}) =>
      follow
        ? followFeed(transport, runEventShape, live(id, "events"), "run_event", options)
        : readFeed(transport, runEventShape, `${item(id)}/events`, "events", options),
    calls: (id, { position, ...query } = {}, options = {}) =>
      listOf(
        transport,
        runCallShape,
        `${item(id)}/calls`,
        "calls",
        { ...pageOf(query), filters: { position } },
        options,
      ),
    usage: (id, options = {}) => readUsage(transport, { path: `${item(id)}/usage` }, options),
    logs: (id, { follow = false, ...options } = {}) =>
      follow
        ? followFeed(transport, runLogChunkShape, live(id, "logs"), "run_log", options)
        : readFeed(transport, runLogChunkShape, `${item(id)}/logs`, "logs", options),
    logSnapshot: (id, options = {}) =>
      transport.ask(runLogSnapshotShape, {
        method: "GET",
        path: `/api/runs/${encodeURIComponent(id)}/logs`,
        ...options,
      }),
    cancel: (id, options = {}) =>
      transport.ask(runShape, {
        method: "POST",
        path: `${item(id)}/cancel`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
    bulkActions: createBulkActionsApi(transport),
  };
}
