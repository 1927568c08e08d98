import type { Schedule, ScheduleOccurrence } from "@keelson/contract";
import { toWireDefinition, type ScheduleDefinition } from "../schedule-definition.ts";
import type { CallOptions } from "./exchange.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** Filters of `schedules.list()`. */
export type ScheduleQuery = PageQuery & {
  /** Only schedules of the task with this declared id. */
  task?: string;
  /** Only those of the API (`imperative`), or those of deployments (`declarative`). */
  type?: Schedule["type"];
  /** Only the one with this key. */
  deduplicationKey?: string;
  /** Only those with this external id. */
  externalId?: string;
};

/** Calls take no idempotency key: the schedule's own key does as much. */
export type SchedulesApi = {
  /** Creates the schedule of the key, or replaces its whole definition. */
  put(schedule: ScheduleDefinition & { deduplicationKey: string }, options?: CallOptions): Promise<Schedule>;
  /** Newest first, declared ones too. */
  list(query?: ScheduleQuery, options?: CallOptions): PagedList<Schedule>;
  /** One schedule; a NotFoundError when there is none. */
  get(id: string, options?: CallOptions): Promise<Schedule>;
  /** Replaces the whole definition: what is left out gets its default. */
  replace(id: string, definition: ScheduleDefinition, options?: CallOptions): Promise<Schedule>;
  /** Lets it fire again, from now on. Safe to repeat. */
  activate(id: string, options?: CallOptions): Promise<Schedule>;
  /** Lets it fire no more. Safe to repeat. */
  deactivate(id: string, options?: CallOptions): Promise<Schedule>;
  /** With its occurrences; runs that have started go on. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Every time that came due, newest first: fired, or skipped with the reason. */
  occurrences(id: string, query?: PageQuery, options?: CallOptions): PagedList<ScheduleOccurrence>;
};

export function createSchedulesApi(transport: Transport): SchedulesApi {
  const item = (id: string): string => `/api/schedules/${encodeURIComponent(id)}`;
  const change = (path: string, options: CallOptions): Promise<Schedule> =>
    transport.request({ method: "POST", path, body: { json: {} }, repeatable: true, ...options });
  return {
    put: ({ deduplicationKey, ...definition }, options = {}) =>
      transport.request({
        method: "POST",
        path: "/api/schedules",
        body: { json: { deduplication_key: deduplicationKey, ...toWireDefinition(definition) } },
        repeatable: true,
        ...options,
      }),
    list: (query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{ schedules: Schedule[]; next_cursor: string | null }>({
          method: "GET",
          path: "/v1/schedules",
          query: {
            limit: query.limit,
            cursor,
            task: query.task,
            type: query.type,
            deduplication_key: query.deduplicationKey,
            external_id: query.externalId,
          },
          ...options,
        });
        return { items: page.schedules, next_cursor: page.next_cursor };
      }, query.cursor),
    get: (id, options = {}) =>
      transport.request({ method: "GET", path: `/v1/schedules/${encodeURIComponent(id)}`, ...options }),
    replace: (id, definition, options = {}) =>
      transport.request({
        method: "PUT",
        path: item(id),
        body: { json: toWireDefinition(definition) },
        ...options,
      }),
    activate: (id, options = {}) => change(`${item(id)}/activate`, options),
    deactivate: (id, options = {}) => change(`${item(id)}/deactivate`, options),
    delete: async (id, options = {}) => {
      await transport.request({ method: "DELETE", path: item(id), ...options });
    },
    occurrences: (id, query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{
          occurrences: ScheduleOccurrence[];
          next_cursor: string | null;
        }>({
          method: "GET",
          path: `${item(id)}/occurrences`,
          query: { limit: query.limit, cursor },
          ...options,
        });
        return { items: page.occurrences, next_cursor: page.next_cursor };
      }, query.cursor),
  };
}
