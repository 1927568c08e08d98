import { apiDeploymentRoutes } from "./api/deployments.ts";
import { apiRunRoutes } from "./api/runs.ts";
import type { Route } from "./route.ts";
import { deploymentRoutes } from "./v1/deployments.ts";
import { consoleRoutes } from "./system/console.ts";
import { docsRoutes } from "./system/docs.ts";
import { healthRoutes } from "./system/health.ts";
import { runRoutes } from "./v1/runs.ts";
import { startRoutes } from "./v1/starts.ts";
import { taskRoutes } from "./v1/tasks.ts";
import { executionRoutes } from "./worker/executions.ts";
import { workerRoutes } from "./worker/workers.ts";

/** Every route of every family: what Fastify serves, the OpenAPI document says and the authorization matrix tests. */
export const routes: readonly Route[] = [
  ...taskRoutes,
  ...startRoutes,
  ...runRoutes,
  ...deploymentRoutes,
  ...apiRunRoutes,
  ...apiDeploymentRoutes,
  ...workerRoutes,
  ...executionRoutes,
  ...healthRoutes,
  ...docsRoutes,
  ...consoleRoutes,
];
