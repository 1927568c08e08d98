import { CreateNamed, encodeId, Environment, PageQuery, UpdateNamed } from "@keelson/contract";
import { createEnvironment } from "../../../core/identity/create-environment.ts";
import { renameEnvironment } from "../../../core/identity/rename-environment.ts";
import { findEnvironment, listEnvironments } from "../../../core/identity/tenancy-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { environmentOf } from "../../edge/project-scope.ts";
import { Text } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toEnvironment } from "./wire.ts";

const tag = "Environments";
const path = "/projects/:project_id/environments";
const ProjectParams = { project_id: Text() };
const EnvironmentParams = { project_id: Text(), environment_id: Text() };

export const environmentRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path,
    name: "listEnvironments",
    summary: "List a project's environments",
    description: "Newest first, of one project.",
    tag,
    access: { kind: "project", permission: "environments.read" },
    params: ProjectParams,
    items: "environments",
    resource: Environment,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) => listEnvironments(server.db, scope.projectId, after, limit),
    toWire: (row) => toEnvironment(row),
  }),
  route({
    in: ["api"],
    method: "POST",
    path,
    name: "createEnvironment",
    summary: "Create an environment",
    description:
      "Without a slug, the server derives one from the name. A slug in use is 409 `already_exists`. Runs go to the workers of the organization's other environments.",
    tag,
    access: { kind: "project", permission: "environments.write" },
    params: ProjectParams,
    body: CreateNamed,
    responses: { 201: { description: "The environment.", schema: Environment } },
    transaction: "required",
    audit: { action: "environments.create", resource: "environment" },
    handle: async ({ tx, server: { newUuid, clock }, scope, body, audit }) => {
      const environment = await createEnvironment(tx, scope, scope, body, { newUuid, now: clock() });
      const { id, name, slug } = environment;
      audit({ id: encodeId("env", id), environmentId: id, details: { name, slug } });
      return { status: 201, body: toEnvironment(environment) };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: `${path}/:environment_id`,
    name: "getEnvironment",
    summary: "Get an environment",
    description: "Shows the environment with its current deployment, to members of the organization.",
    tag,
    access: { kind: "project", permission: "environments.read" },
    params: EnvironmentParams,
    responses: { 200: { description: "The environment.", schema: Environment } },
    handle: async ({ server, scope }) => {
      const environment = await findEnvironment(server.db, scope.projectId, environmentOf(scope));
      if (environment === null) throw notFound();
      return { status: 200, body: toEnvironment(environment) };
    },
  }),
  route({
    in: ["api"],
    method: "PATCH",
    path: `${path}/:environment_id`,
    name: "updateEnvironment",
    summary: "Rename an environment",
    description: "Changes the name, the slug or both. A slug in use is 409 `already_exists`.",
    tag,
    access: { kind: "project", permission: "environments.write" },
    params: EnvironmentParams,
    body: UpdateNamed,
    responses: { 200: { description: "The environment.", schema: Environment } },
    transaction: "required",
    audit: { action: "environments.update", resource: "environment" },
    handle: async ({ tx, server, scope, params, body, audit }) => {
      const place = { projectId: scope.projectId, environmentId: environmentOf(scope) };
      const environment = await renameEnvironment(tx, scope, place, body, server.clock());
      audit({ id: params.environment_id, details: { ...body } });
      return { status: 200, body: toEnvironment(environment) };
    },
  }),
];
