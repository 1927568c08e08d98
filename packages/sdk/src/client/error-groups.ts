import type { ErrorGroupOrder, ErrorGroupStatus } from "@keelson/contract/plain";
import type { ErrorGroup } from "./resources.ts";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { listOf, pageOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { errorGroupShape } from "./wire-shapes.ts";
import { toWireTime } from "./time-input.ts";

/** Filters of `errorGroups.list()`; they narrow the list together. */
export type ErrorGroupQuery = PageQuery & {
  /** Only groups in this status, or one of these. */
  status?: ErrorGroupStatus | readonly ErrorGroupStatus[];
  /** Only groups with failed runs of the task with this declared id. */
  task?: string;
  /** Only groups with failed runs of the actor with this declared id. */
  actor?: string;
  /** Only groups with a failure at or after this time. */
  seenSince?: Date | string;
  /** What comes first: the group with the latest failure (`last_seen`, the default), or the one with the most runs (`count`). */
  order?: ErrorGroupOrder;
};

/** `client.errorGroups`: failed runs, grouped by what failed. */
export type ErrorGroupsApi = {
  /**
   * The groups, the one with the latest failure first.
   *
   * @example
   * ```ts
   * for await (const group of client.errorGroups.list({ status: "open" })) console.log(group.count, group.title);
   * ```
   */
  list(query?: ErrorGroupQuery, options?: RequestOptions): PagedList<ErrorGroup>;
  /**
   * One group. Rejects with a NotFoundError when it does not exist, or was dropped.
   *
   * @example
   * ```ts
   * const group = await client.errorGroups.get("err_5z0…");
   * for await (const run of client.runs.list({ errorGroupId: group.id })) console.log(run.id);
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<ErrorGroup>;
  /**
   * Resolves the group. It becomes open again if another run fails in the same way. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.errorGroups.resolve("err_5z0…");
   * ```
   */
  resolve(id: string, options?: CallOptions): Promise<ErrorGroup>;
  /**
   * Mutes the group: it stays muted and keeps counting. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.errorGroups.mute("err_5z0…");
   * ```
   */
  mute(id: string, options?: CallOptions): Promise<ErrorGroup>;
  /**
   * Opens a resolved or muted group again. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.errorGroups.open("err_5z0…");
   * ```
   */
  open(id: string, options?: CallOptions): Promise<ErrorGroup>;
};

export function createErrorGroupsApi(transport: Transport): ErrorGroupsApi {
  const item = (id: string): string => `/v1/error-groups/${encodeURIComponent(id)}`;
  const change = (path: string, options: CallOptions): Promise<ErrorGroup> =>
    transport.ask(errorGroupShape, {
      method: "POST",
      path,
      body: { json: {} },
      repeatable: true,
      ...options,
    });
  return {
    list: ({ seenSince, ...query } = {}, options = {}) =>
      listOf(
        transport,
        errorGroupShape,
        "/v1/error-groups",
        "error_groups",
        {
          ...pageOf(query),
          filters: {
            status: query.status,
            task: query.task,
            actor: query.actor,
            seen_since: toWireTime(seenSince, "seenSince"),
            order: query.order,
          },
        },
        options,
      ),
    get: (id, options = {}) => transport.ask(errorGroupShape, { method: "GET", path: item(id), ...options }),
    resolve: (id, options = {}) => change(`${item(id)}/resolve`, options),
    mute: (id, options = {}) => change(`${item(id)}/mute`, options),
    open: (id, options = {}) => change(`${item(id)}/open`, options),
  };
}
