import { adminAuditEventRoutes } from "./admin/audit-events.ts";
import { adminEnrollmentTokenRoutes } from "./admin/enrollment-tokens.ts";
import { adminOrganizationRoutes } from "./admin/organizations.ts";
import { adminSystemRoutes } from "./admin/system.ts";
import { adminUserRoutes } from "./admin/users.ts";
import { adminWorkerGroupRoutes } from "./admin/worker-groups.ts";
import { adminWorkerRoutes } from "./admin/workers.ts";
import { apiActorRoutes } from "./api/actors.ts";
import { apiKeyRoutes } from "./api/api-keys.ts";
import { auditEventRoutes } from "./api/audit-events.ts";
import { browserSessionRoutes } from "./api/browser-sessions.ts";
import { apiDeploymentRoutes } from "./api/deployments.ts";
import { deviceRoutes } from "./api/devices.ts";
import { environmentRoutes } from "./api/environments.ts";
import { githubRoutes } from "./api/github.ts";
import { invitationRoutes } from "./api/invitations.ts";
import { logoutRoutes } from "./api/logout.ts";
import { magicLinkRoutes } from "./api/magic-links.ts";
import { meRoutes } from "./api/me.ts";
import { memberRoutes } from "./api/members.ts";
import { projectRoutes } from "./api/projects.ts";
import { runActivityRoutes } from "./api/run-activity.ts";
import { apiRunRoutes } from "./api/runs.ts";
import { apiSandboxRoutes } from "./api/sandboxes.ts";
import { apiScheduleRoutes } from "./api/schedules.ts";
import { apiSecretRoutes } from "./api/secrets.ts";
import { apiSessionRoutes } from "./api/sessions.ts";
import { publicAccessTokenRoutes } from "./api/public-access-tokens.ts";
import { apiTaskRoutes } from "./api/tasks.ts";
import { apiTokenRoutes } from "./api/tokens.ts";
import { publicSessionRoutes } from "./api-public/sessions.ts";
import { publicTokenRoutes } from "./api-public/tokens.ts";
import { apiWorkspaceRoutes } from "./api/workspaces.ts";
import { capacityGroupRoutes } from "./capacity/worker-groups.ts";
import { capacityWorkerRoutes } from "./capacity/workers.ts";
import type { Route } from "./route.ts";
import { deploymentRoutes } from "./v1/deployments.ts";
import { docsRoutes } from "./system/docs.ts";
import { healthRoutes } from "./system/health.ts";
import { execRoutes } from "./v1/execs.ts";
import { runRoutes } from "./v1/runs.ts";
import { actorRoutes } from "./v1/actors.ts";
import { scheduleRoutes } from "./v1/schedules.ts";
import { secretRoutes } from "./v1/secrets.ts";
import { sessionRoutes } from "./v1/sessions.ts";
import { taskRoutes } from "./v1/tasks.ts";
import { tokenRoutes } from "./v1/tokens.ts";
import { sandboxRoutes } from "./v1/sandboxes.ts";
import { workspaceRoutes } from "./v1/workspaces.ts";
import { blobRoutes } from "./worker/blobs.ts";
import { executionRoutes } from "./worker/executions.ts";
import { operationRoutes } from "./worker/operations.ts";
import { runExecRoutes } from "./worker/run-execs.ts";
import { processReportRoutes } from "./worker/processes.ts";
import { workerRoutes } from "./worker/workers.ts";
import { workerWorkspaceRoutes } from "./worker/workspaces.ts";

/** Every route of every family: what Fastify serves, the OpenAPI document says and the authorization matrix tests. */
export const routes: readonly Route[] = [
  ...taskRoutes,
  ...actorRoutes,
  ...sessionRoutes,
  ...runRoutes,
  ...deploymentRoutes,
  ...tokenRoutes,
  ...apiTaskRoutes,
  ...apiActorRoutes,
  ...apiSandboxRoutes,
  ...apiSessionRoutes,
  ...scheduleRoutes,
  ...secretRoutes,
  ...apiRunRoutes,
  ...runActivityRoutes,
  ...apiDeploymentRoutes,
  ...apiTokenRoutes,
  ...publicAccessTokenRoutes,
  ...publicTokenRoutes,
  ...publicSessionRoutes,
  ...apiScheduleRoutes,
  ...apiSecretRoutes,
  ...meRoutes,
  ...projectRoutes,
  ...environmentRoutes,
  ...apiKeyRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...auditEventRoutes,
  ...magicLinkRoutes,
  ...deviceRoutes,
  ...githubRoutes,
  ...logoutRoutes,
  ...browserSessionRoutes,
  ...workerRoutes,
  ...executionRoutes,
  ...operationRoutes,
  ...sandboxRoutes,
  ...workspaceRoutes,
  ...execRoutes,
  ...apiWorkspaceRoutes,
  ...blobRoutes,
  ...workerWorkspaceRoutes,
  ...processReportRoutes,
  ...runExecRoutes,
  ...adminOrganizationRoutes,
  ...adminUserRoutes,
  ...adminWorkerGroupRoutes,
  ...adminEnrollmentTokenRoutes,
  ...adminWorkerRoutes,
  ...adminAuditEventRoutes,
  ...adminSystemRoutes,
  ...capacityGroupRoutes,
  ...capacityWorkerRoutes,
  ...healthRoutes,
  ...docsRoutes,
];
