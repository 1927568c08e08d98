import {
  CreateSandboxWorkspace,
  decodeId,
  DEFAULT_SANDBOX,
  Page,
  pageQuery,
  Sandbox,
  Workspace,
} from "@keelson/contract";
import { Type } from "typebox";
import type { CachedDeployment } from "../core/entrypoints/deployment-cache.ts";
import { ensureDefaultSandbox } from "../core/sandboxes/register-sandboxes.ts";
import { sandboxSpec } from "../core/sandboxes/sandbox.ts";
import { findSandbox, listSandboxes, type SandboxRow } from "../core/sandboxes/sandbox-reads.ts";
import { notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import { route, type EnvironmentScope, type Route } from "./route.ts";
import { operationIn, pathIn, type SharedFamily } from "./shared-route.ts";
import { toSandbox } from "./wire/workspace.ts";
import { answerWorkspaceCreate } from "./workspace-answers.ts";
import { EXAMPLE_SANDBOX, EXAMPLE_WORKSPACE } from "./workspace-examples.ts";

const LIST = "sandboxes";
const tag = "Sandboxes";
const read = { kind: "environment", permission: "sandboxes.read" } as const;

function sandboxOf(scope: EnvironmentScope, row: SandboxRow, deployment: CachedDeployment | null): Sandbox {
  const declared = deployment?.sandboxes.get(row.declaredId) ?? null;
  return toSandbox(row, scope, declared === null ? null : (deployment?.id ?? null), sandboxSpec(declared));
}

/** @throws DomainError `not_found` unless the current deployment declares it, or it is the built-in one. */
async function requireSandbox(
  server: ServerContext,
  scope: EnvironmentScope,
  text: string,
): Promise<Sandbox> {
  const id = decodeId("sbx", text);
  const row = id === null ? null : await findSandbox(server.db, scope.environmentId, id);
  if (row === null) throw notFound();
  const deployment = await server.deployments.current(scope.environmentId);
  if (row.declaredId !== DEFAULT_SANDBOX && deployment?.sandboxes.has(row.declaredId) !== true)
    throw notFound();
  return sandboxOf(scope, row, deployment);
}

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/sandboxes"),
    operationId: operationIn(family, "listSandboxes"),
    summary: "List sandboxes",
    description:
      "Those of the current deployment and the built-in `default`, those first declared last at the top.",
    tag,
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of sandboxes.", schema: Page("sandboxes", Sandbox) } },
    examples: { response: { sandboxes: [EXAMPLE_SANDBOX], next_cursor: null } },
    handle: async ({ server, scope, query }) => {
      const { environmentId } = scope;
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, environmentId, query.cursor);
      await ensureDefaultSandbox(server.db, server.newUuid, environmentId);
      const deployment = await server.deployments.current(environmentId);
      const declaredIds = [DEFAULT_SANDBOX, ...(deployment?.sandboxes.keys() ?? [])];
      const rows = await listSandboxes(server.db, environmentId, declaredIds, before, limit + 1);
      const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
      const sandboxes = page.rows.map((row) => sandboxOf(scope, row, deployment));
      return { status: 200, body: { sandboxes, next_cursor: page.nextCursor } };
    },
  });

const itemRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/sandboxes/:id"),
    operationId: operationIn(family, "getSandbox"),
    summary: "Get a sandbox",
    description:
      "The id stays the same from deployment to deployment; a sandbox that the current deployment does not declare is not found.",
    tag,
    access: read,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The sandbox.", schema: Sandbox } },
    examples: { response: EXAMPLE_SANDBOX },
    handle: async ({ server, scope, params }) => ({
      status: 200,
      body: await requireSandbox(server, scope, params.id),
    }),
  });

const createWorkspaceRoute: Route = route({
  family: "v1",
  method: "POST",
  path: "/v1/sandboxes/:id/workspaces",
  operationId: "createSandboxWorkspace",
  summary: "Create a workspace",
  description:
    "A workspace that keeps the sandbox as it is declared now. With the files of `from_version_id` (a fork), else with what the setup makes, " +
    "else empty. An `external_id` that an active workspace has is 409 `already_exists`.",
  tag,
  access: { kind: "environment", permission: "workspaces.write" },
  params: Type.Object({ id: Type.String() }),
  body: CreateSandboxWorkspace,
  idempotency: "own",
  responses: { 201: { description: "The workspace.", schema: Workspace } },
  examples: {
    request: { external_id: "ticket-4711", tags: ["support"] },
    response: { ...EXAMPLE_WORKSPACE, sandbox: "node", materialization: null },
  },
  handle: async ({ server, scope, params, body, request }) => {
    const { declared_id: sandbox } = await requireSandbox(server, scope, params.id);
    const operation = `sandboxes.workspaces.create ${sandbox}`;
    return answerWorkspaceCreate(server, scope, { ...body, sandbox }, request, operation);
  },
});

/** On /api workspaces are made at /api/workspaces. */
export const sandboxRoutesIn = (family: SharedFamily): Route[] => [
  listRoute(family),
  itemRoute(family),
  ...(family === "v1" ? [createWorkspaceRoute] : []),
];
