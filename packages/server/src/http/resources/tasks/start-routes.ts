import {
  DECLARED_ID_PATTERN,
  EXAMPLE_CREATED_RUN,
  ERROR_CODES,
  Run,
  StartBatch,
  StartBatchResult,
  StartTask,
  type ErrorCode,
} from "@keelson/contract";
import { findCreatedRun } from "../../../core/runs/run-reads.ts";
import { startTask } from "../../../core/runs/start-task.ts";
import { DomainError, invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { toErrorReply } from "../../edge/error-reply.ts";
import { replayedHeader } from "../../edge/keep-reply.ts";
import { Text } from "../../edge/params.ts";
import { route, type EnvironmentScope, type RequestFacts, type RouteDefinition } from "../../edge/route.ts";
import { createdRunJson, newRunJson } from "../runs/wire.ts";

type Started = { status: number; json: string; replayed: boolean };

/** Starts one task and gives the run as it was created, whether now or by an earlier request with the same key. */
async function startOne(
  server: ServerContext,
  scope: EnvironmentScope,
  request: RequestFacts,
  task: string,
  body: StartTask,
  idempotencyKey: string | null,
): Promise<Started> {
  const { clientVersion, cliVersion, sdkVersion } = request;
  const { organizationId, projectId, environmentId, workerGroupId } = scope;
  const outcome = await startTask(server, {
    organizationId,
    projectId,
    environmentId,
    workerGroupId,
    kind: "task",
    entrypoint: task,
    body,
    idempotencyKey,
    clientVersion,
    cliVersion,
    sdkVersion,
  });
  if (outcome.kind === "created") return { status: 201, json: newRunJson(outcome.run), replayed: false };
  const first = await findCreatedRun(server.db, environmentId, outcome.runId);
  if (first === null) throw notFound();
  return { status: 201, json: createdRunJson(first), replayed: true };
}

const EXAMPLE_START = {
  payload: { week: 47 },
  tags: ["weekly"],
  idempotency_key: "report-2026-47",
};

const startRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/tasks/:declaredID/start",
  name: "startTask",
  summary: "Start a task",
  description:
    "Starts a run of the task in the current deployment, or in the one pinned by `deployment_version`. The answer is the run as it was " +
    "created, and means that the run is durable. The payload is checked against the task's declared JSON Schema.",
  tag: "Tasks",
  access: { kind: "environment", permission: "tasks.start" },
  params: { declaredID: Text(DECLARED_ID_PATTERN) },
  body: StartTask,
  idempotency: "own",
  responses: { 201: { description: "The run as it was created.", schema: Run } },
  examples: { request: EXAMPLE_START, response: EXAMPLE_CREATED_RUN },
  handle: async ({ server, scope, params, body, request }) => {
    const { status, json, replayed } = await startOne(
      server,
      scope,
      request,
      params.declaredID,
      body,
      request.idempotencyKey,
    );
    return { status, json, headers: replayedHeader(replayed) };
  },
});

const batchRoute = route({
  in: ["v1"],
  method: "POST",
  path: "/tasks/start-batch",
  name: "startTaskBatch",
  summary: "Start up to 500 tasks",
  description:
    "Each start is independent: a refused start does not affect the others. Results are in the order of the request.",
  tag: "Tasks",
  access: { kind: "environment", permission: "tasks.start" },
  body: StartBatch,
  separateItems: "starts",
  responses: { 200: { description: "A run or an error for each start.", schema: StartBatchResult } },
  examples: { request: { starts: [{ task: "send-report", ...EXAMPLE_START }] } },
  handle: async ({ server, scope, body, request }) => {
    const results = await Promise.all(
      body.starts.map(async ({ task, ...start }, index) => {
        try {
          const issue = request.oddItems?.get(index);
          if (issue !== undefined) throw invalidRequest([issue]);
          const turn = server.turns.enter(scope.environmentId, START_COST);
          if (turn !== undefined) await turn;
          const { status, json } = await startOne(
            server,
            scope,
            request,
            task,
            start,
            start.idempotency_key ?? null,
          );
          return `{"status":${status},"run":${json},"error":null}`;
        } catch (error) {
          if (!isOwnRefusal(error)) throw error;
          const { status, body: refusal } = toErrorReply(error, request.requestId);
          return `{"status":${status},"run":null,"error":${JSON.stringify(refusal.error)}}`;
        }
      }),
    );
    return { status: 200, json: `{"results":[${results.join(",")}]}` };
  },
});

/** A batch is sent by programs, on /v1. */
export const startRoutes: RouteDefinition[] = [startRoute, batchRoute];

/** In shares of a small request: there is no other request to read and to answer. */
const START_COST = 0.25;

/** A refusal of this start alone. Anything else, such as a lost database, is the whole request's failure. */
function isOwnRefusal(error: unknown): error is DomainError {
  return error instanceof DomainError && ERROR_CODES[error.code satisfies ErrorCode].status < 500;
}
