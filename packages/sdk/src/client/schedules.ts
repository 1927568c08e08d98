import type { Schedule, ScheduleOccurrence } from "./resources.ts";
import { toWireDefinition, type ScheduleDefinition } from "../schedule-definition.ts";
import type { CallOptions } from "./exchange.ts";
import { listOf, pageOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { scheduleOccurrenceShape, scheduleShape } from "./wire-shapes.ts";

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
  /**
   * Creates the schedule with the deduplication key, or replaces its whole definition.
   *
   * @example
   * ```ts
   * await client.schedules.put({ deduplicationKey: "nightly", task: "import", cron: "30 2 * * *", timezone: "Europe/Berlin" });
   * ```
   */
  put(schedule: ScheduleDefinition & { deduplicationKey: string }, options?: CallOptions): Promise<Schedule>;
  /**
   * The schedules, newest first, including declared ones.
   *
   * @example
   * ```ts
   * for await (const schedule of client.schedules.list({ task: "import" })) console.log(schedule.id);
   * ```
   */
  list(query?: ScheduleQuery, options?: CallOptions): PagedList<Schedule>;
  /**
   * One schedule. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const schedule = await client.schedules.get("sched_01k…");
   * ```
   */
  get(id: string, options?: CallOptions): Promise<Schedule>;
  /**
   * Replaces the whole definition: absent fields get their defaults.
   *
   * @example
   * ```ts
   * await client.schedules.replace("sched_01k…", { task: "import", cron: "0 4 * * *" });
   * ```
   */
  replace(id: string, definition: ScheduleDefinition, options?: CallOptions): Promise<Schedule>;
  /**
   * Activates the schedule from now on. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.schedules.activate("sched_01k…");
   * ```
   */
  activate(id: string, options?: CallOptions): Promise<Schedule>;
  /**
   * Deactivates the schedule. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.schedules.deactivate("sched_01k…");
   * ```
   */
  deactivate(id: string, options?: CallOptions): Promise<Schedule>;
  /**
   * Deletes its occurrences too; started runs continue.
   *
   * @example
   * ```ts
   * await client.schedules.delete("sched_01k…");
   * ```
   */
  delete(id: string, options?: CallOptions): Promise<void>;
  /**
   * All due times, newest first: fired, or skipped with the reason.
   *
   * @example
   * ```ts
   * for await (const due of client.schedules.occurrences("sched_01k…")) console.log(due.scheduledAt, due.status);
   * ```
   */
  occurrences(id: string, query?: PageQuery, options?: CallOptions): PagedList<ScheduleOccurrence>;
};

export function createSchedulesApi(transport: Transport): SchedulesApi {
  const item = (id: string): string => `/api/schedules/${encodeURIComponent(id)}`;
  const change = (path: string, options: CallOptions): Promise<Schedule> =>
    transport.ask(scheduleShape, { method: "POST", path, body: { json: {} }, repeatable: true, ...options });
  return {
    put: ({ deduplicationKey, ...definition }, options = {}) =>
      transport.ask(scheduleShape, {
        method: "POST",
        path: "/api/schedules",
        body: { json: { deduplication_key: deduplicationKey, ...toWireDefinition(definition) } },
        repeatable: true,
        ...options,
      }),
    list: (query = {}, options = {}) =>
      listOf(
        transport,
        scheduleShape,
        "/v1/schedules",
        "schedules",
        {
          ...pageOf(query),
          filters: {
            task: query.task,
            type: query.type,
            deduplication_key: query.deduplicationKey,
            external_id: query.externalId,
          },
        },
        options,
      ),
    get: (id, options = {}) =>
      transport.ask(scheduleShape, {
        method: "GET",
        path: `/v1/schedules/${encodeURIComponent(id)}`,
        ...options,
      }),
    replace: (id, definition, options = {}) =>
      transport.ask(scheduleShape, {
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
      listOf(transport, scheduleOccurrenceShape, `${item(id)}/occurrences`, "occurrences", query, options),
  };
}
