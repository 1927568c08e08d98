import { PageQuery, Task } from "@keelson/contract";
import { findDeclared, listDeclared, type EntrypointForm } from "./declared-entrypoints.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { startRoutes } from "./start-routes.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toTask } from "./wire.ts";

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
  isolation: "process",
  folders: [],
  created_at: "2026-11-20T09:15:00.123Z",
};

const list = listRoute({
  in: ["v1", "api"],
  path: "/tasks",
  name: "listTasks",
  summary: "List tasks",
  description:
    "The tasks of the current deployment, newest declaration first. Empty before the first promotion.",
  tag: "Tasks",
  access: read,
  items: "tasks",
  resource: Task,
  example: EXAMPLE_TASK,
  query: PageQuery,
  read: ({ server, scope }, page) => listDeclared(server, scope, FORM, page),
  toWire: ({ resource }) => resource,
});

const itemRoute = route({
  in: ["v1", "api"],
  method: "GET",
  path: "/tasks/:id",
  name: "getTask",
  summary: "Get a task",
  description:
    "The id is the same in every deployment. A task that the current deployment does not declare is 404.",
  tag: "Tasks",
  access: read,
  params: { id: Id("task") },
  responses: { 200: { description: "The task.", schema: Task } },
  examples: { response: EXAMPLE_TASK },
  handle: async ({ server, scope, params }) => ({
    status: 200,
    body: await findDeclared(server, scope, FORM, params.id),
  }),
});

export const taskRoutes: RouteDefinition[] = [list, itemRoute, ...startRoutes];
