import {
  NextRuns,
  Page,
  pageQuery,
  PutSchedule,
  ReplaceSchedule,
  Schedule,
  ScheduleOccurrence,
} from "@keelson/contract";
import { Type } from "typebox";
import { route, type Route } from "../route.ts";
import {
  answerNextRuns,
  answerOccurrences,
  answerScheduleActive,
  answerScheduleDelete,
  answerScheduleItem,
  answerScheduleList,
  answerSchedulePut,
  answerScheduleReplace,
  NextRunsQuery,
  scheduleIdOf,
  ScheduleListQuery,
  ScheduleParams,
} from "../schedule-answers.ts";
import {
  EXAMPLE_DEFINITION,
  EXAMPLE_OCCURRENCE,
  EXAMPLE_PUT_SCHEDULE,
  EXAMPLE_SCHEDULE,
} from "../schedule-examples.ts";

const common = { family: "api", tag: "Schedules" } as const;
const read = { kind: "environment", permission: "schedules.read" } as const;
const write = { kind: "environment", permission: "schedules.write" } as const;

const DECLARATIVE =
  "A schedule that the deployed code declares is 400 `schedule_is_declarative`: it changes with a deployment.";
const TIMES =
  "A fixed local time that a change of clocks skips comes due at the first instant after it, and one that repeats the first time; " +
  "steps, ranges of minutes and every hour follow the clock. An expression or zone that cannot be used is 400 `invalid_cron`.";

const one = { params: ScheduleParams } as const;
const answersSchedule = (description: string) => ({
  responses: { 200: { description, schema: Schedule } },
  examples: { response: EXAMPLE_SCHEDULE },
});

const changes: Route[] = [
  route({
    ...common,
    method: "POST",
    path: "/api/schedules",
    operationId: "apiPutSchedule",
    summary: "Create or replace a schedule",
    description:
      "Creates the schedule of `deduplication_key`, or replaces its whole definition. Its runs get a payload of the service's own: schedule, " +
      `due time and time zone. ${TIMES} ${DECLARATIVE}`,
    access: write,
    body: PutSchedule,
    responses: {
      200: { description: "The schedule of the key, replaced.", schema: Schedule },
      201: { description: "The new schedule.", schema: Schedule },
    },
    examples: { request: EXAMPLE_PUT_SCHEDULE, response: EXAMPLE_SCHEDULE },
    audit: { action: "schedules.put", resource: "schedule" },
    handle: ({ server, scope, body, audited }) => answerSchedulePut(server, scope, body, audited),
  }),
  route({
    ...common,
    ...one,
    method: "PUT",
    path: "/api/schedules/:id",
    operationId: "apiReplaceSchedule",
    summary: "Replace a schedule",
    description: `Replaces the whole definition; what is left out gets its default. The key stays. ${TIMES} ${DECLARATIVE}`,
    access: write,
    body: ReplaceSchedule,
    ...answersSchedule("The schedule as it is now."),
    examples: { request: EXAMPLE_DEFINITION, response: EXAMPLE_SCHEDULE },
    audit: { action: "schedules.replace", resource: "schedule" },
    handle: ({ server, scope, params, body, audited }) =>
      answerScheduleReplace(server, scope, scheduleIdOf(params), body, audited),
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/api/schedules/:id/activate",
    operationId: "apiActivateSchedule",
    summary: "Activate a schedule",
    description: `The first due time is the next one from now. Repeating it changes nothing. ${DECLARATIVE}`,
    access: write,
    ...answersSchedule("The schedule, active."),
    audit: { action: "schedules.activate", resource: "schedule" },
    handle: ({ server, scope, params, audited }) =>
      answerScheduleActive(server, scope, scheduleIdOf(params), true, audited),
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/api/schedules/:id/deactivate",
    operationId: "apiDeactivateSchedule",
    summary: "Deactivate a schedule",
    description: `No time comes due until it is active again; runs that have started go on. ${DECLARATIVE}`,
    access: write,
    responses: { 200: { description: "The schedule, inactive.", schema: Schedule } },
    examples: {
      response: { ...EXAMPLE_SCHEDULE, active: false, status: "inactive", next_run_at: null },
    },
    audit: { action: "schedules.deactivate", resource: "schedule" },
    handle: ({ server, scope, params, audited }) =>
      answerScheduleActive(server, scope, scheduleIdOf(params), false, audited),
  }),
  route({
    ...common,
    ...one,
    method: "DELETE",
    path: "/api/schedules/:id",
    operationId: "apiDeleteSchedule",
    summary: "Delete a schedule",
    description: `With its occurrences. Runs that have started go on and stay. ${DECLARATIVE}`,
    access: write,
    responses: { 204: { description: "The schedule is gone." } },
    audit: { action: "schedules.delete", resource: "schedule" },
    handle: ({ scope, params, audited }) => answerScheduleDelete(scope, scheduleIdOf(params), audited),
  }),
];

const reads: Route[] = [
  route({
    ...common,
    method: "GET",
    path: "/api/schedules",
    operationId: "apiListSchedules",
    summary: "List schedules",
    description: "Newest first, imperative and declarative ones.",
    access: read,
    query: ScheduleListQuery,
    responses: { 200: { description: "A page of schedules.", schema: Page("schedules", Schedule) } },
    examples: { response: { schedules: [EXAMPLE_SCHEDULE], next_cursor: null } },
    handle: ({ server, scope, query }) => answerScheduleList(server, scope, query),
  }),
  route({
    ...common,
    method: "GET",
    path: "/api/schedules/next-runs",
    operationId: "apiListNextRuns",
    summary: "List the next due times of a cron expression",
    description: `Of a schedule that there is, or of one that somebody is about to write. ${TIMES}`,
    access: read,
    query: NextRunsQuery,
    responses: { 200: { description: "The times.", schema: NextRuns } },
    examples: { response: { next_runs: ["2026-11-23T06:30:00.000Z", "2026-11-24T06:30:00.000Z"] } },
    handle: ({ server, query }) => answerNextRuns(server, query),
  }),
  route({
    ...common,
    ...one,
    method: "GET",
    path: "/api/schedules/:id",
    operationId: "apiGetSchedule",
    summary: "Get a schedule",
    description: "An `errored` one says in `status_reason` why it cannot start runs at present.",
    access: read,
    ...answersSchedule("The schedule."),
    handle: ({ server, scope, params }) => answerScheduleItem(server, scope, scheduleIdOf(params)),
  }),
  route({
    ...common,
    ...one,
    method: "GET",
    path: "/api/schedules/:id/occurrences",
    operationId: "apiListScheduleOccurrences",
    summary: "List a schedule's occurrences",
    description:
      "The ledger, newest first: every time that came due, once, with the run it started or the reason why it started none. " +
      "After a time without a server only the newest due time starts a run.",
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: {
      200: { description: "A page of occurrences.", schema: Page("occurrences", ScheduleOccurrence) },
    },
    examples: { response: { occurrences: [EXAMPLE_OCCURRENCE], next_cursor: null } },
    handle: ({ server, scope, params, query }) =>
      answerOccurrences(server, scope, scheduleIdOf(params), query),
  }),
];

export const apiScheduleRoutes: Route[] = [...reads, ...changes];
