import { adminAuditEventRoutes } from "./resources/audit-events/admin-routes.ts";
import { adminEnrollmentTokenRoutes } from "./families/admin/enrollment-tokens.ts";
import { adminOrganizationRoutes } from "./families/admin/organizations.ts";
import { adminSystemRoutes } from "./families/admin/system.ts";
import { adminUserRoutes } from "./families/admin/users.ts";
import { adminWorkerGroupRoutes } from "./families/admin/worker-groups.ts";
import { adminWorkerRoutes } from "./resources/workers/admin-routes.ts";
import { apiKeyRoutes } from "./families/account/api-keys.ts";
import { auditEventRoutes } from "./resources/audit-events/routes.ts";
import { browserSessionRoutes } from "./families/sign-in/browser-sessions.ts";
import { deviceRoutes } from "./families/sign-in/devices.ts";
import { environmentRoutes } from "./families/account/environments.ts";
import { githubRoutes } from "./families/sign-in/github.ts";
import { invitationRoutes } from "./families/account/invitations.ts";
import { logoutRoutes } from "./families/sign-in/logout.ts";
import { magicLinkRoutes } from "./families/sign-in/magic-links.ts";
import { mcpRoutes } from "./resources/mcp/routes.ts";
import { meRoutes } from "./families/account/me.ts";
import { savedViewRoutes } from "./families/account/saved-views.ts";
import { memberRoutes } from "./families/account/members.ts";
import { projectRoutes } from "./families/account/projects.ts";
import { runActivityRoutes } from "./resources/runs/activity-routes.ts";
import { runMetricsRoutes } from "./resources/runs/metrics-routes.ts";
import { publicAccessTokenRoutes } from "./resources/public-access-tokens/routes.ts";
import { publicRunRoutes } from "./resources/runs/public-routes.ts";
import { publicFileRoutes } from "./resources/streams/public-file-routes.ts";
import { publicMessageRoutes } from "./resources/streams/public-message-routes.ts";
import { publicSessionRoutes } from "./resources/streams/public-routes.ts";
import { publicTokenRoutes } from "./resources/tokens/public-routes.ts";
import { capacityGroupRoutes } from "./families/capacity/worker-groups.ts";
import { capacityWorkerRoutes } from "./resources/workers/capacity-routes.ts";
import { oauthAuthorizationRoutes } from "./families/oauth/authorizations.ts";
import { oauthClientRoutes } from "./families/oauth/clients.ts";
import { oauthDeviceRoutes } from "./families/oauth/devices.ts";
import { oauthGrantRoutes } from "./families/oauth/grants.ts";
import { oauthMetadataRoutes } from "./families/oauth/metadata.ts";
import { oauthTokenRoutes } from "./families/oauth/tokens.ts";
import { placed } from "./edge/places.ts";
import type { Route, RouteDefinition } from "./edge/route.ts";
import { deploymentRoutes } from "./resources/deployments/routes.ts";
import { docsRoutes } from "./system/docs.ts";
import { healthRoutes } from "./system/health.ts";
import { execRoutes } from "./resources/processes/exec-routes.ts";
import { errorGroupRoutes } from "./resources/error-groups/routes.ts";
import { runCallRoutes } from "./resources/runs/call-routes.ts";
import { runUsageRoutes } from "./resources/runs/usage-routes.ts";
import { runRoutes } from "./resources/runs/routes.ts";
import { bulkActionRoutes } from "./resources/bulk-actions/routes.ts";
import { actorRoutes } from "./resources/actors/routes.ts";
import { scheduleRoutes } from "./resources/schedules/routes.ts";
import { secretRoutes } from "./resources/secrets/routes.ts";
import { messageRoutes } from "./resources/sessions/message-routes.ts";
import { stateRoutes } from "./resources/sessions/state-routes.ts";
import { sessionFileRoutes } from "./resources/sessions/file-routes.ts";
import { sessionUsageRoutes } from "./resources/sessions/usage-routes.ts";
import { sessionRoutes } from "./resources/sessions/routes.ts";
import { taskRoutes } from "./resources/tasks/routes.ts";
import { tokenRoutes } from "./resources/tokens/routes.ts";
import { sandboxRoutes } from "./resources/sandboxes/routes.ts";
import { workspaceRoutes } from "./resources/workspaces/routes.ts";
import { blobRoutes } from "./families/worker/blobs.ts";
import { executionRoutes } from "./families/worker/executions.ts";
import { operationRoutes } from "./families/worker/operations.ts";
import { runExecRoutes } from "./families/worker/run-execs.ts";
import { processReportRoutes } from "./families/worker/processes.ts";
import { workerRoutes } from "./families/worker/workers.ts";
import { workerWorkspaceRoutes } from "./families/worker/workspaces.ts";

import { fileRoutes } from "./resources/files/routes.ts";
import { processRoutes } from "./resources/processes/routes.ts";
import { streamRoutes } from "./resources/streams/routes.ts";

const DEFINITIONS: readonly RouteDefinition[] = [
  ...taskRoutes,
  ...actorRoutes,
  ...sandboxRoutes,
  ...sessionRoutes,
  ...messageRoutes,
  ...stateRoutes,
  ...sessionUsageRoutes,
  ...sessionFileRoutes,
  ...streamRoutes,
  ...runRoutes,
  ...runCallRoutes,
  ...runUsageRoutes,
  ...bulkActionRoutes,
  ...runActivityRoutes,
  ...runMetricsRoutes,
  ...errorGroupRoutes,
  ...deploymentRoutes,
  ...tokenRoutes,
  ...publicAccessTokenRoutes,
  ...publicTokenRoutes,
  ...publicSessionRoutes,
  ...publicMessageRoutes,
  ...publicFileRoutes,
  ...publicRunRoutes,
  ...scheduleRoutes,
  ...secretRoutes,
  ...mcpRoutes,
  ...oauthMetadataRoutes,
  ...oauthClientRoutes,
  ...oauthTokenRoutes,
  ...oauthDeviceRoutes,
  ...meRoutes,
  ...projectRoutes,
  ...environmentRoutes,
  ...apiKeyRoutes,
  ...savedViewRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...auditEventRoutes,
  ...magicLinkRoutes,
  ...deviceRoutes,
  ...githubRoutes,
  ...logoutRoutes,
  ...oauthAuthorizationRoutes,
  ...oauthGrantRoutes,
  ...browserSessionRoutes,
  ...workerRoutes,
  ...executionRoutes,
  ...operationRoutes,
  ...workspaceRoutes,
  ...execRoutes,
  ...fileRoutes,
  ...processRoutes,
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

/** Every route of every family: what Fastify serves, the OpenAPI document says and the authorization matrix tests. */
export const routes: readonly Route[] = DEFINITIONS.flatMap(placed);
