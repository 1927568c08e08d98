import type { Run, RunCounts, RunEvent, RunLogChunk, RunLogSnapshot } from "@keelson/contract";
import { isTerminalRunStatus, type RunStatus } from "@keelson/contract/plain";
import { followStream, type FollowOptions } from "./follow-stream.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { waitForRun, type WaitOptions } from "./wait-for-run.ts";

export type RunQuery = PageQuery & {
  status?: RunStatus | readonly RunStatus[];
  task?: string;
  actor?: string;
  sessionId?: string;
  tag?: string;
  scheduleId?: string;
  /** Only those that this run started. */
  parentRunId?: string;
  createdAfter?: Date | string;
  createdBefore?: Date | string;
};

export type FeedOptions = FollowOptions & {
  /** Go on until the run has ended instead of stopping at what there is. Default false. */
  follow?: boolean;
};

export type RunsApi = {
  get(id: string, options?: RequestOptions): Promise<Run>;
  /** Newest first. */
  list(query?: RunQuery, options?: RequestOptions): PagedList<Run>;
  /** How many runs there are in each status. */
  counts(options?: RequestOptions): Promise<RunCounts["counts"]>;
  /** The run once it has ended, however it ended. See `WaitOptions`. */
  wait<R extends Run = Run>(run: string | R, options?: WaitOptions): Promise<R>;
  /** Oldest first. */
  events(id: string, options?: FeedOptions): AsyncGenerator<RunEvent>;
  /** The chunks of both streams in the order they were written; `decodeBase64` gives a chunk's bytes. */
  logs(id: string, options?: FeedOptions): AsyncGenerator<RunLogChunk>;
  /** The last 256 KiB of each stream. */
  logSnapshot(id: string, options?: RequestOptions): Promise<RunLogSnapshot>;
  /** Asks the run to end; resolves with the run as it is then. */
  cancel(id: string, options?: RequestOptions): Promise<Run>;
};

const timeText = (at: Date | string | undefined): string | undefined =>
  at instanceof Date ? at.toISOString() : at;

/** What there is of a feed, page by page. */
async function* readFeed<T extends { id: string }>(
  transport: Transport,
  path: string,
  plural: string,
  options: FollowOptions,
): AsyncGenerator<T> {
  let cursor = options.cursor;
  for (;;) {
    const page = await transport.request<Record<string, unknown>>({
      method: "GET",
      path,
      query: { cursor, limit: 200 },
      ...(options.signal && { signal: options.signal }),
    });
    const rows = page[plural] as T[];
    yield* rows;
    if (typeof page["next_cursor"] !== "string" || rows.length === 0) return;
    cursor = page["next_cursor"];
  }
}

async function* followFeed<T>(
  transport: Transport,
  path: string,
  eventName: string,
  options: FollowOptions,
): AsyncGenerator<T> {
  for await (const event of followStream(transport, path, options))
    if (event.event === eventName) yield event.data as T;
}

export function createRunsApi(transport: Transport): RunsApi {
  const item = (id: string): string => `/v1/runs/${encodeURIComponent(id)}`;
  const live = (id: string, feed: string): string => `/api/runs/${encodeURIComponent(id)}/${feed}?follow=1`;
  return {
    get: (id, options = {}) => transport.request({ method: "GET", path: item(id), ...options }),
    list: (query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{ runs: Run[]; next_cursor: string | null }>({
          method: "GET",
          path: "/v1/runs",
          query: {
            limit: query.limit,
            cursor,
            status: query.status,
            task: query.task,
            actor: query.actor,
            session_id: query.sessionId,
            tag: query.tag,
            schedule_id: query.scheduleId,
            parent_run_id: query.parentRunId,
            created_after: timeText(query.createdAfter),
            created_before: timeText(query.createdBefore),
          },
          ...options,
        });
        return { items: page.runs, next_cursor: page.next_cursor };
      }, query.cursor),
    counts: async (options = {}) =>
      (await transport.request<RunCounts>({ method: "GET", path: "/api/runs/counts", ...options })).counts,
    async wait<R extends Run>(run: string | R, options: WaitOptions = {}) {
      if (typeof run !== "string" && isTerminalRunStatus(run.status)) return run;
      return (await waitForRun(transport, typeof run === "string" ? run : run.id, options)) as R;
    },
    events: (id, { follow = false, ...options } = {}) =>
      follow
        ? followFeed(transport, live(id, "events"), "run_event", options)
        : readFeed(transport, `${item(id)}/events`, "events", options),
    logs: (id, { follow = false, ...options } = {}) =>
      follow
        ? followFeed(transport, live(id, "logs"), "run_log", options)
        : readFeed(transport, `${item(id)}/logs`, "logs", options),
    logSnapshot: (id, options = {}) =>
      transport.request({ method: "GET", path: `/api/runs/${encodeURIComponent(id)}/logs`, ...options }),
    cancel: (id, options = {}) =>
      transport.request({
        method: "POST",
        path: `${item(id)}/cancel`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}
