// One object of each kind, and a request for every route from a caller who may.

import type { Route } from "../../../src/http/edge/route.ts";
import { pathOf, ROWS, type Ids } from "../../contract/authorization-rows.ts";
import { ABSENT } from "../../contract/support/unknown-ids.ts";
import { digestOf, type Answer, type ApiServer } from "../../support/api-server.ts";
import { BUNDLE, createReadyDeployment, promote } from "../../support/deploy.ts";
import { enrollWorker, type RawWorker } from "../../support/raw-worker.ts";

export type RouteScene = {
  ids: Ids;
  worker: RawWorker;
  publicToken: string;
  accessToken: string;
  runAccessToken: string;
};

export async function prepareRoutes(server: ApiServer): Promise<RouteScene> {
  const worker = await enrollWorker(server);
  const deployment = await createReadyDeployment(server, worker.token, {
    tasks: [{ id: "report" }],
    actors: [{ id: "chat" }],
  });
  await promote(server, deployment.id);
  const started = await server.call("POST", "/v1/tasks/report/start", { body: {} });
  const tasks = await server.call("GET", "/v1/tasks");
  const lease = await worker.takeOne();
  const token = await server.call("POST", "/v1/tokens", { body: {} });
  const publicToken = token.body.public_access_token;
  const actors = await server.call("GET", "/v1/actors");
  const session = await server.call("POST", "/v1/sessions", { body: { actor: "chat", external_id: "talk" } });
  const access = await server.call("POST", "/api/public-access-tokens", {
    body: {
      scope: { type: "session.input.send", session: { type: "id", id: session.body.id }, stream: "input" },
    },
  });
  const accessToken = access.body.public_access_token;
  const watching = await server.call("POST", "/api/public-access-tokens", {
    body: { scope: { type: "run.read", run: started.body.id } },
  });
  const runAccessToken = watching.body.public_access_token;
  // Its run is not to be taken for another.
  await server.call("POST", `/v1/sessions/${session.body.id}/cancel`);
  const workspace = await server.call("POST", "/api/workspaces", { body: {} });
  const sandboxes = await server.call("GET", "/v1/sandboxes");
  const ids = {
    ...ABSENT,
    workspace: workspace.body.id,
    version: workspace.body.current_version_id,
    doomed: workspace.body.id,
    running: workspace.body.id,
    sandbox: sandboxes.body.sandboxes[0].id,
    run: started.body.id,
    task: tasks.body.tasks[0].id,
    deployment: deployment.id,
    bundle: digestOf(BUNDLE),
    environment: server.credentials.environment_id,
    project: server.credentials.project_id,
    lease: lease.fields.lease_id,
    token: token.body.id,
    actor: actors.body.actors[0].id,
    session: session.body.id,
    externalId: "talk",
  };
  return { ids, worker, publicToken, accessToken, runAccessToken };
}

/** What a caller who may would send. */
export function callRoute(
  { ids, worker, publicToken, accessToken, runAccessToken }: RouteScene,
  server: Pick<ApiServer, "call" | "credentials">,
  route: Route,
  user = server.credentials.user_token,
): Promise<Answer> {
  const row = ROWS[route.operationId] ?? {};
  const target = pathOf(route, row, ids);
  const { credentials } = server;
  const as = {
    public: null,
    environment: credentials.api_key,
    organization: user,
    project: user,
    user: user,
    caller: user,
    visitor: user,
    worker: worker.token,
    admin: credentials.admin_key,
    capacity: credentials.capacity_key,
    completion_token: publicToken,
    public_access: accessToken,
    public_run_access: runAccessToken,
  }[route.access.kind];
  const lease = { run_id: ids.run, lease_id: ids.lease, epoch: 1, environment_id: ids.environment };
  const body = route.path.endsWith("executions/renew") ? { leases: [lease] } : row.body?.(ids);
  return server.call(route.method, target, {
    as,
    ...(row.bytes === undefined ? {} : { bytes: row.bytes }),
    ...(body === undefined ? {} : { body }),
  });
}
