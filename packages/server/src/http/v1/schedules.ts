import { Page, Schedule } from "@keelson/contract";
import { route, type Route } from "../route.ts";
import {
  answerScheduleItem,
  answerScheduleList,
  scheduleIdOf,
  ScheduleListQuery,
  ScheduleParams,
} from "../schedule-answers.ts";
import { EXAMPLE_SCHEDULE } from "../schedule-examples.ts";

const read = { kind: "environment", permission: "schedules.read" } as const;

export const scheduleRoutes: Route[] = [
  route({
    family: "v1",
    method: "GET",
    path: "/v1/schedules",
    operationId: "listSchedules",
    summary: "List schedules",
    description: "Newest first, imperative and declarative ones.",
    tag: "Schedules",
    access: read,
    query: ScheduleListQuery,
    responses: { 200: { description: "A page of schedules.", schema: Page("schedules", Schedule) } },
    examples: { response: { schedules: [EXAMPLE_SCHEDULE], next_cursor: null } },
    handle: ({ server, scope, query }) => answerScheduleList(server, scope, query),
  }),
  route({
    family: "v1",
    method: "GET",
    path: "/v1/schedules/:id",
    operationId: "getSchedule",
    summary: "Get a schedule",
    description: "An `errored` one says in `status_reason` why it cannot start runs at present.",
    tag: "Schedules",
    access: read,
    params: ScheduleParams,
    responses: { 200: { description: "The schedule.", schema: Schedule } },
    examples: { response: EXAMPLE_SCHEDULE },
    handle: ({ server, scope, params }) => answerScheduleItem(server, scope, scheduleIdOf(params)),
  }),
];
