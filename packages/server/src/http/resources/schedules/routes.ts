import {
  encodeId,
  ListNextRuns,
  ListSchedules,
  NEXT_RUNS_DEFAULT,
  NextRuns,
  PageQuery,
  PutSchedule,
  ReplaceSchedule,
  Schedule,
  ScheduleOccurrence,
  type Uuid,
} from "@keelson/contract";
import {
  deleteSchedule,
  putSchedule,
  replaceSchedule,
  setScheduleActive,
} from "../../../core/schedules/define-schedule.ts";
import { checkScheduleTime, nextRunsOf } from "../../../core/schedules/next-run.ts";
import { listOccurrences } from "../../../core/schedules/occurrence-reads.ts";
import { findSchedule, listSchedules } from "../../../core/schedules/schedule-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { listRoute } from "../../edge/list-route.ts";
import { TIME_KEY } from "../../edge/page.ts";
import { Id } from "../../edge/params.ts";
import { route, type ChangeCall, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { toTimestamp } from "../../edge/time.ts";
import {
  EXAMPLE_DEFINITION,
  EXAMPLE_OCCURRENCE,
  EXAMPLE_PUT_SCHEDULE,
  EXAMPLE_SCHEDULE,
} from "./examples.ts";
import { toOccurrence, toSchedule } from "./wire.ts";

/** Schedules: /v1 reads what /api also changes. */

const tag = "Schedules";
const read = {
  in: ["v1", "api"],
  tag,
  access: { kind: "environment", permission: "schedules.read" },
} as const;
const readOnApi = { ...read, in: ["api"] } as const;
const write = {
  in: ["api"],
  tag,
  access: { kind: "environment", permission: "schedules.write" },
  transaction: "required",
} as const;
const one = { params: { id: Id("sched") } } as const;
const answersSchedule = (description: string) => ({
  responses: { 200: { description, schema: Schedule } },
  examples: { response: EXAMPLE_SCHEDULE },
});

const DECLARATIVE =
  "A schedule that the deployed code declares is 400 `schedule_is_declarative`: it changes with a deployment.";
const TIMES =
  "A fixed local time that a change of clocks skips comes due at the first instant after it, and one that repeats the first time; " +
  "steps, ranges of minutes and every hour follow the clock. An expression or zone that cannot be used is 400 `invalid_cron`.";

async function scheduleReply(
  db: Queryable,
  { environmentId }: { environmentId: Uuid<"env"> },
  scheduleId: Uuid<"sched">,
  status = 200,
): Promise<Reply> {
  const row = await findSchedule(db, environmentId, scheduleId);
  if (row === null) throw notFound();
  return { status, body: toSchedule(row) };
}

/** What the audit log says of a definition: what runs, and when. */
const definitionOf = ({ task, cron, timezone, active }: ReplaceSchedule) => ({
  task,
  cron,
  ...(timezone === undefined ? {} : { timezone }),
  ...(active === undefined ? {} : { active }),
});

async function setActive(
  { tx, server, scope, audit }: ChangeCall,
  scheduleId: Uuid<"sched">,
  active: boolean,
): Promise<Reply> {
  const now = server.clock();
  const changed = await setScheduleActive(tx, server, scope.environmentId, scheduleId, active, now);
  audit(changed ? { id: encodeId("sched", scheduleId) } : null);
  return scheduleReply(tx, scope, scheduleId);
}

const reads: RouteDefinition[] = [
  listRoute({
    ...read,
    path: "/schedules",
    name: "listSchedules",
    summary: "List schedules",
    description: "All schedules, newest first, including declared ones.",
    items: "schedules",
    resource: Schedule,
    example: EXAMPLE_SCHEDULE,
    query: ListSchedules,
    filter: ({ task, type, deduplication_key, external_id }) => ({
      task: task ?? null,
      type: type ?? null,
      deduplicationKey: deduplication_key ?? null,
      externalId: external_id ?? null,
    }),
    read: ({ server, scope }, { filter, after, limit }) =>
      listSchedules(server.db, scope.environmentId, filter, after, limit),
    toWire: toSchedule,
  }),
  route({
    ...readOnApi,
    method: "GET",
    path: "/schedules/next-runs",
    name: "apiListNextRuns",
    summary: "List the next due times of a cron expression",
    description: `The next due times of a schedule, or of any expression. ${TIMES}`,
    query: ListNextRuns,
    responses: { 200: { description: "The times.", schema: NextRuns } },
    examples: { response: { next_runs: ["2026-11-23T06:30:00.000Z", "2026-11-24T06:30:00.000Z"] } },
    handle: async ({ server, query: { cron, timezone = "UTC", limit = NEXT_RUNS_DEFAULT } }) => {
      checkScheduleTime(cron, timezone);
      const times = nextRunsOf(cron, timezone, server.clock(), limit);
      return { status: 200, body: { next_runs: times.map(toTimestamp) } satisfies NextRuns };
    },
  }),
  route({
    ...read,
    ...one,
    method: "GET",
    path: "/schedules/:id",
    name: "getSchedule",
    summary: "Get a schedule",
    description: "For an `errored` schedule, `status_reason` says why it cannot start runs now.",
    ...answersSchedule("The schedule."),
    handle: ({ server, scope, params }) => scheduleReply(server.db, scope, params.id),
  }),
  listRoute({
    ...readOnApi,
    ...one,
    path: "/schedules/:id/occurrences",
    name: "apiListScheduleOccurrences",
    summary: "List a schedule's occurrences",
    description:
      "All due times, newest first, each with the run that it started or the reason why it started none. After a server outage, only the newest due" +
      " time starts a run.",
    items: "occurrences",
    resource: ScheduleOccurrence,
    example: EXAMPLE_OCCURRENCE,
    query: PageQuery,
    within: async ({ server, scope, params }) => {
      if ((await findSchedule(server.db, scope.environmentId, params.id)) === null) throw notFound();
      return params.id;
    },
    read: ({ server, scope, params }, { after, limit }) => {
      const before = after === null ? null : Number(after);
      return listOccurrences(server.db, scope.environmentId, params.id, before, limit);
    },
    key: { of: ({ scheduledAt }) => String(scheduledAt), pattern: TIME_KEY },
    toWire: (row, { within }) => toOccurrence(within, row),
  }),
];

const changes: RouteDefinition[] = [
  route({
    ...write,
    method: "POST",
    path: "/schedules",
    name: "apiPutSchedule",
    summary: "Create or replace a schedule",
    description:
      "Creates the schedule of `deduplication_key`, or replaces its whole definition. Its runs get a payload of the service's own: schedule, " +
      `due time and time zone. ${TIMES} ${DECLARATIVE}`,
    body: PutSchedule,
    responses: {
      200: { description: "The schedule of the key, replaced.", schema: Schedule },
      201: { description: "The new schedule.", schema: Schedule },
    },
    examples: { request: EXAMPLE_PUT_SCHEDULE, response: EXAMPLE_SCHEDULE },
    audit: { action: "schedules.put", resource: "schedule" },
    handle: async ({ tx, server, scope, body, audit }) => {
      const { scheduleId, created } = await putSchedule(tx, server, scope, body, server.clock());
      const details = { ...definitionOf(body), deduplication_key: body.deduplication_key, created };
      audit({ id: encodeId("sched", scheduleId), details });
      return scheduleReply(tx, scope, scheduleId, created ? 201 : 200);
    },
  }),
  route({
    ...write,
    ...one,
    method: "PUT",
    path: "/schedules/:id",
    name: "apiReplaceSchedule",
    summary: "Replace a schedule",
    description: `Replaces the whole definition: absent fields get their defaults, but \`active\`, which stays as it is. The key stays. ${TIMES} ${DECLARATIVE}`,
    body: ReplaceSchedule,
    ...answersSchedule("The schedule as it is now."),
    examples: { request: EXAMPLE_DEFINITION, response: EXAMPLE_SCHEDULE },
    audit: { action: "schedules.replace", resource: "schedule" },
    handle: async ({ tx, server, scope, params, body, audit }) => {
      await replaceSchedule(tx, server, scope.environmentId, params.id, body, server.clock());
      audit({ id: encodeId("sched", params.id), details: definitionOf(body) });
      return scheduleReply(tx, scope, params.id);
    },
  }),
  route({
    ...write,
    ...one,
    method: "POST",
    path: "/schedules/:id/activate",
    name: "apiActivateSchedule",
    summary: "Activate a schedule",
    description: `The first due time is the next one from now. Repeating it changes nothing. ${DECLARATIVE}`,
    ...answersSchedule("The schedule, active."),
    audit: { action: "schedules.activate", resource: "schedule" },
    handle: (call) => setActive(call, call.params.id, true),
  }),
  route({
    ...write,
    ...one,
    method: "POST",
    path: "/schedules/:id/deactivate",
    name: "apiDeactivateSchedule",
    summary: "Deactivate a schedule",
    description: `The schedule starts no runs until it is active again. Started runs continue. ${DECLARATIVE}`,
    responses: { 200: { description: "The schedule, inactive.", schema: Schedule } },
    examples: {
      response: { ...EXAMPLE_SCHEDULE, active: false, status: "inactive", next_run_at: null },
    },
    audit: { action: "schedules.deactivate", resource: "schedule" },
    handle: (call) => setActive(call, call.params.id, false),
  }),
  route({
    ...write,
    ...one,
    method: "DELETE",
    path: "/schedules/:id",
    name: "apiDeleteSchedule",
    summary: "Delete a schedule",
    description: `Deletes the schedule and its occurrences. Started runs continue and stay. ${DECLARATIVE}`,
    responses: { 204: { description: "The schedule is gone." } },
    audit: { action: "schedules.delete", resource: "schedule" },
    handle: async ({ tx, scope, params, audit }) => {
      await deleteSchedule(tx, scope.environmentId, params.id);
      audit({ id: encodeId("sched", params.id) });
      return { status: 204, body: undefined };
    },
  }),
];

export const scheduleRoutes: RouteDefinition[] = [...reads, ...changes];
