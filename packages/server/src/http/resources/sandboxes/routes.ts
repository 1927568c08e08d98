import {
  CreateSandboxWorkspace,
  DEFAULT_SANDBOX,
  PageQuery,
  Sandbox,
  Workspace,
  type Uuid,
} from "@keelson/contract";
import type { CachedDeployment } from "../../../core/entrypoints/deployment-cache.ts";
import { ensureDefaultSandbox } from "../../../core/sandboxes/register-sandboxes.ts";
import { sandboxSpec } from "../../../core/sandboxes/sandbox.ts";
import { findSandbox, listSandboxes, type SandboxRow } from "../../../core/sandboxes/sandbox-reads.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { toSandbox } from "../workspaces/wire.ts";
import { createKeptWorkspace } from "../workspaces/create-workspace.ts";
import { EXAMPLE_SANDBOX, EXAMPLE_WORKSPACE } from "../workspaces/examples.ts";

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
  id: Uuid<"sbx">,
): Promise<Sandbox> {
  const row = await findSandbox(server.db, scope.environmentId, id);
  if (row === null) throw notFound();
  const deployment = await server.deployments.current(scope.environmentId);
  if (row.declaredId !== DEFAULT_SANDBOX && deployment?.sandboxes.has(row.declaredId) !== true)
    throw notFound();
  return sandboxOf(scope, row, deployment);
}

const list = listRoute({
  in: ["v1", "api"],
  path: "/sandboxes",
  name: "listSandboxes",
  summary: "List sandboxes",
  description:
    "The sandboxes of the current deployment and the built-in `default`, newest declaration first.",
  tag,
  access: read,
  items: "sandboxes",
  resource: Sandbox,
  example: EXAMPLE_SANDBOX,
  query: PageQuery,
  read: async ({ server, scope }, { after, limit }) => {
    const { environmentId } = scope;
    await ensureDefaultSandbox(server.db, server.newUuid, environmentId);
    const deployment = await server.deployments.current(environmentId);
    const declaredIds = [DEFAULT_SANDBOX, ...(deployment?.sandboxes.keys() ?? [])];
    const rows = await listSandboxes(server.db, environmentId, declaredIds, after, limit);
    return rows.map((row) => ({ id: row.id, sandbox: sandboxOf(scope, row, deployment) }));
  },
  toWire: ({ sandbox }) => sandbox,
});

const itemRoute = route({
  in: ["v1", "api"],
  method: "GET",
  path: "/sandboxes/:id",
  name: "getSandbox",
  summary: "Get a sandbox",
  description:
    "The id is the same in every deployment. A sandbox that the current deployment does not declare is 404.",
  tag,
  access: read,
  params: { id: Id("sbx") },
  responses: { 200: { description: "The sandbox.", schema: Sandbox } },
  examples: { response: EXAMPLE_SANDBOX },
  handle: async ({ server, scope, params }) => ({
    status: 200,
    body: await requireSandbox(server, scope, params.id),
  }),
});

const createWorkspaceRoute = route({
  in: ["v1"],
  method: "POST",
  path: "/sandboxes/:id/workspaces",
  name: "createSandboxWorkspace",
  summary: "Create a workspace",
  description:
    "Creates a workspace with the sandbox's present declaration. Its files are those of `from_version_id` (a fork), or else those of the " +
    "sandbox's setup, or else none. An `external_id` of an active workspace is 409 `already_exists`.",
  tag,
  access: { kind: "environment", permission: "workspaces.write" },
  params: { id: Id("sbx") },
  body: CreateSandboxWorkspace,
  idempotency: "own",
  responses: { 201: { description: "The workspace.", schema: Workspace } },
  examples: {
    request: { external_id: "ticket-4711", tags: ["support"] },
    response: { ...EXAMPLE_WORKSPACE, sandbox: "node", materialization: null },
  },
  handle: async (call) => {
    const { declared_id: sandbox } = await requireSandbox(call.server, call.scope, call.params.id);
    // The sandbox is part of what a repeat must have in common with the first request.
    const content = { ...call.body, sandbox };
    return createKeptWorkspace(call, sandbox, {
      operation: `sandboxes.workspaces.create ${sandbox}`,
      content,
    });
  },
});

/** On /api workspaces are made at /api/workspaces. */
export const sandboxRoutes: RouteDefinition[] = [list, itemRoute, createWorkspaceRoute];
