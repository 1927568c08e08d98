import { Page, pageQuery, Task } from "@keelson/contract";
import { Type } from "typebox";
import { answerEntrypoint, answerEntrypointPage, type EntrypointForm } from "./entrypoint-answers.ts";
import { route, type Route } from "./route.ts";
import { operationIn, pathIn, type SharedFamily } from "./shared-route.ts";
import { toTask } from "./wire/task.ts";

const FORM: EntrypointForm = { kind: "task", list: "tasks", toResource: toTask };
const read = { kind: "environment", permission: "tasks.read" } as const;

const EXAMPLE_TASK = {
  id: "task_01kahvq3rtexwt6a4e3p9c0z5h",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  declared_id: "send-report",
  deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
  description: "Sends the weekly report.",
  payload_schema: { type: "object", properties: { week: { type: "integer" } }, required: ["week"] },
  queue: "reports",
  retry: { max_attempts: 5 },
  max_duration: "10m",
  ttl: null,
  sandbox: null,
  execution: "exclusive",
  memory_mb: null,
  created_at: "2026-11-20T09:15:00.123Z",
};

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/tasks"),
    operationId: operationIn(family, "listTasks"),
    summary: "List tasks",
    description:
      "The tasks of the current deployment, those first declared last at the top. Empty while nothing has been promoted.",
    tag: "Tasks",
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of tasks.", schema: Page("tasks", Task) } },
    examples: { response: { tasks: [EXAMPLE_TASK], next_cursor: null } },
    handle: ({ server, scope, query }) => answerEntrypointPage(server, scope.environmentId, FORM, query),
  });

const itemRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/tasks/:id"),
    operationId: operationIn(family, "getTask"),
    summary: "Get a task",
    description:
      "The id stays the same from deployment to deployment; a task that the current deployment does not declare is not found.",
    tag: "Tasks",
    access: read,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The task.", schema: Task } },
    examples: { response: EXAMPLE_TASK },
    handle: ({ server, scope, params }) => answerEntrypoint(server, scope.environmentId, FORM, params.id),
  });

export const taskRoutesIn = (family: SharedFamily): Route[] => [listRoute(family), itemRoute(family)];
