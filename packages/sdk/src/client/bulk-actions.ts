import type { BulkActionKind } from "@keelson/contract/plain";
import { sleep } from "./clock.ts";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { BulkAction, BulkActionItem, BulkActionPreview } from "./resources.ts";
import { runFiltersOf, type RunQuery } from "./run-query.ts";
import type { Transport } from "./transport.ts";
import { bulkActionItemShape, bulkActionPreviewShape, bulkActionShape } from "./wire-shapes.ts";

/** Which runs a bulk action is about: the filters of `runs.list()`, or `all`. */
export type BulkRunFilter = Omit<RunQuery, keyof PageQuery> & {
  /** Every run of the environment. Needed when there are no other filters. */
  all?: true;
};

/** A cancellation or a replay of many runs, by a filter or by up to 500 ids. */
export type BulkActionRequest = {
  /** `cancel` live runs, or `replay` ended runs. */
  action: BulkActionKind;
  /** Of a replay: the version of the new runs. Default: the current deployment. */
  deploymentVersion?: string;
  /** Shown with the bulk action and in the audit log. */
  reason?: string;
} & ({ filter: BulkRunFilter } | { runIds: readonly string[] });

/** Options of `runs.bulkActions.wait()`. */
export type BulkActionWaitOptions = CallOptions & {
  /** Called with the bulk action each time it was read. */
  onProgress?: (action: BulkAction) => void;
};

/** `client.runs.bulkActions`. */
export type BulkActionsApi = {
  /**
   * Starts a bulk action, which servers carry out in the background. Runs that are created later do not belong to it.
   *
   * @example
   * ```ts
   * const action = await client.runs.bulkActions.create({
   *   action: "replay",
   *   filter: { task: "report", status: "failed", createdAfter: "2026-11-22T00:00:00Z" },
   * });
   * ```
   */
  create(request: BulkActionRequest, options?: RequestOptions): Promise<BulkAction>;
  /**
   * Counts the runs that a bulk action would be about, and changes nothing.
   *
   * @example
   * ```ts
   * const { matched } = await client.runs.bulkActions.preview({ action: "cancel", filter: { tag: "weekly" } });
   * ```
   */
  preview(request: BulkActionRequest, options?: CallOptions): Promise<BulkActionPreview>;
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const action of client.runs.bulkActions.list()) console.log(action.id, action.status);
   * ```
   */
  list(query?: PageQuery, options?: CallOptions): PagedList<BulkAction>;
  /**
   * One bulk action. Rejects with a NotFoundError when it does not exist, or was dropped.
   *
   * @example
   * ```ts
   * const { done, failed } = await client.runs.bulkActions.get("bulk_01k…");
   * ```
   */
  get(id: string, options?: CallOptions): Promise<BulkAction>;
  /**
   * Leaves the remaining runs as they are. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.runs.bulkActions.cancel("bulk_01k…");
   * ```
   */
  cancel(id: string, options?: CallOptions): Promise<BulkAction>;
  /**
   * What was done with each run, newest run first.
   *
   * @example
   * ```ts
   * for await (const { runId, outcome, error } of client.runs.bulkActions.items("bulk_01k…"))
   *   if (outcome === "failed") console.log(runId, error?.message);
   * ```
   */
  items(id: string, query?: PageQuery, options?: CallOptions): PagedList<BulkActionItem>;
  /**
   * Waits until the bulk action is completed or cancelled.
   *
   * @example
   * ```ts
   * const { done, failed } = await client.runs.bulkActions.wait("bulk_01k…");
   * ```
   */
  wait(id: string, options?: BulkActionWaitOptions): Promise<BulkAction>;
};

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 5_000;
const PATH = "/v1/runs/bulk-actions";

function toWireRequest(request: BulkActionRequest): Record<string, unknown> {
  const { action, deploymentVersion, reason } = request;
  return {
    action,
    ...("runIds" in request ? { run_ids: request.runIds } : { filter: toWireFilter(request.filter) }),
    ...(deploymentVersion !== undefined && { deployment_version: deploymentVersion }),
    ...(reason !== undefined && { reason }),
  };
}

/** A query repeats a parameter, where a body has a list. */
function toWireFilter({ all, ...query }: BulkRunFilter): Record<string, unknown> {
  const { status, tag, ...filters } = runFiltersOf(query);
  const listOfValues = <T>(value: T | readonly T[] | undefined): readonly T[] | undefined =>
    value === undefined || Array.isArray(value) ? (value as readonly T[] | undefined) : [value as T];
  return { ...filters, status: listOfValues(status), tag: listOfValues(tag), all };
}

export function createBulkActionsApi(transport: Transport): BulkActionsApi {
  const item = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;
  const get: BulkActionsApi["get"] = (id, options = {}) =>
    transport.ask(bulkActionShape, { method: "GET", path: item(id), ...options });
  return {
    create: (request, options = {}) =>
      transport.ask(bulkActionShape, {
        method: "POST",
        path: PATH,
        body: { json: toWireRequest(request) },
        ...options,
      }),
    preview: (request, options = {}) =>
      transport.ask(bulkActionPreviewShape, {
        method: "POST",
        path: PATH,
        body: { json: { ...toWireRequest(request), dry_run: true } },
        repeatable: true,
        ...options,
      }),
    list: (query = {}, options = {}) =>
      listOf(transport, bulkActionShape, PATH, "bulk_actions", query, options),
    get,
    cancel: (id, options = {}) =>
      transport.ask(bulkActionShape, {
        method: "POST",
        path: `${item(id)}/cancel`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
    items: (id, query = {}, options = {}) =>
      listOf(transport, bulkActionItemShape, `${item(id)}/items`, "items", query, options),
    wait: async (id, { onProgress, ...options } = {}) => {
      for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(LAST_POLL_MS, delayMs * 1.5)) {
        const action = await get(id, options);
        onProgress?.(action);
        if (action.status !== "running") return action;
        await sleep(delayMs, options.signal);
      }
    },
  };
}
