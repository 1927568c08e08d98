import { Run } from "@keelson/contract";
import { Type } from "typebox";
import { route, type Route } from "../route.ts";
import {
  answerRunCancel,
  answerRunEventPage,
  answerRunItem,
  answerRunList,
  answerRunLogPage,
  FeedPageQuery,
  RunEventPage,
  RunList,
  RunListQuery,
  RunLogPage,
  RunParams,
} from "../run-routes.ts";

const read = { kind: "environment", permission: "runs.read" } as const;
const PageQuery = Type.Object(FeedPageQuery, { additionalProperties: false });

export const runRoutes: Route[] = [
  route({
    family: "v1",
    method: "GET",
    path: "/v1/runs",
    operationId: "listRuns",
    summary: "List runs",
    description: "Newest first. Filters narrow the list together.",
    tag: "Runs",
    access: read,
    query: RunListQuery,
    responses: { 200: { description: "A page of runs.", schema: RunList } },
    handle: ({ server, scope, query }) => answerRunList(server, scope, query),
  }),
  route({
    family: "v1",
    method: "GET",
    path: "/v1/runs/:id",
    operationId: "getRun",
    summary: "Get a run",
    description: "`status_reason` says why a live run is not running.",
    tag: "Runs",
    access: read,
    params: RunParams,
    responses: { 200: { description: "The run.", schema: Run } },
    handle: ({ server, scope, params }) => answerRunItem(server, scope, params),
  }),
  route({
    family: "v1",
    method: "GET",
    path: "/v1/runs/:id/events",
    operationId: "listRunEvents",
    summary: "List a run's events",
    description: "Oldest first, a finite page after `cursor`. To follow live, use /api/runs/{id}/events.",
    tag: "Runs",
    access: read,
    params: RunParams,
    query: PageQuery,
    responses: { 200: { description: "A page of events.", schema: RunEventPage } },
    handle: ({ server, scope, params, query }) => answerRunEventPage(server, scope, params, query),
  }),
  route({
    family: "v1",
    method: "GET",
    path: "/v1/runs/:id/logs",
    operationId: "listRunLogs",
    summary: "List a run's log chunks",
    description: "Oldest first, a finite page after `cursor`. To follow live, use /api/runs/{id}/logs.",
    tag: "Runs",
    access: read,
    params: RunParams,
    query: PageQuery,
    responses: { 200: { description: "A page of log chunks.", schema: RunLogPage } },
    handle: ({ server, scope, params, query }) => answerRunLogPage(server, scope, params, query),
  }),
  route({
    family: "v1",
    method: "POST",
    path: "/v1/runs/:id/cancel",
    operationId: "cancelRun",
    summary: "Cancel a run",
    description:
      "A run that no worker holds is cancelled at once. A running one becomes `cancel_requested`: its code is asked to stop and its process is " +
      "ended after a grace of 10 s. Cancelling again changes nothing; a run that ended otherwise is 409 `invalid_state`.",
    tag: "Runs",
    access: { kind: "environment", permission: "runs.cancel" },
    params: RunParams,
    responses: { 200: { description: "The run as it is now.", schema: Run } },
    handle: ({ server, scope, params }) => answerRunCancel(server, scope, params),
  }),
];
