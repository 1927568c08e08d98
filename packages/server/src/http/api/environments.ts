import { CreateNamed, encodeId, Environment, Page, pageQuery, UpdateNamed } from "@keelson/contract";
import { Type } from "typebox";
import { createEnvironment } from "../../core/identity/create-environment.ts";
import { renameEnvironment } from "../../core/identity/rename-environment.ts";
import { findEnvironment, listEnvironments } from "../../core/identity/tenancy-reads.ts";
import { notFound } from "../../domain-error.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { environmentOf } from "../project-scope.ts";
import { route, type Route } from "../route.ts";
import { toEnvironment } from "../wire/identity.ts";

const LIST = "environments";
const tag = "Environments";
const path = "/api/projects/:project_id/environments";
const ProjectParams = Type.Object({ project_id: Type.String() });
const EnvironmentParams = Type.Object({ project_id: Type.String(), environment_id: Type.String() });

export const environmentRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path,
    operationId: "listEnvironments",
    summary: "List a project's environments",
    description: "Newest first, of one project.",
    tag,
    access: { kind: "project", permission: "environments.read" },
    params: ProjectParams,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of environments.", schema: Page(LIST, Environment) } },
    handle: async ({ server, scope, query }) => {
      const { projectId } = scope;
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, projectId, query.cursor);
      const rows = await listEnvironments(server.db, projectId, before, limit + 1);
      const page = toPage(rows, limit, ({ id }) => encodeCursor(LIST, projectId, id));
      return {
        status: 200,
        body: { environments: page.rows.map(toEnvironment), next_cursor: page.nextCursor },
      };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path,
    operationId: "createEnvironment",
    summary: "Create an environment",
    description:
      "A slug is made from the name unless one is given; one that is taken is 409 `already_exists`. Its runs go to the workers of the organization's other environments.",
    tag,
    access: { kind: "project", permission: "environments.write" },
    params: ProjectParams,
    body: CreateNamed,
    responses: { 201: { description: "The environment.", schema: Environment } },
    audit: { action: "environments.create", resource: "environment" },
    handle: async ({ server, scope, body, audited }) => {
      const { newUuid } = server;
      const environment = await audited(
        (tx) => createEnvironment(tx, scope, scope, body, { newUuid, now: server.clock() }),
        ({ id, name, slug }) => ({ id: encodeId("env", id), environmentId: id, details: { name, slug } }),
      );
      return { status: 201, body: toEnvironment(environment) };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: `${path}/:environment_id`,
    operationId: "getEnvironment",
    summary: "Get an environment",
    description: "With its current deployment, for members of its organization.",
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
    family: "api",
    method: "PATCH",
    path: `${path}/:environment_id`,
    operationId: "updateEnvironment",
    summary: "Rename an environment",
    description: "Name, slug or both; a slug that is taken is 409 `already_exists`.",
    tag,
    access: { kind: "project", permission: "environments.write" },
    params: EnvironmentParams,
    body: UpdateNamed,
    responses: { 200: { description: "The environment.", schema: Environment } },
    audit: { action: "environments.update", resource: "environment" },
    handle: async ({ server, scope, params, body, audited }) => {
      const place = { projectId: scope.projectId, environmentId: environmentOf(scope) };
      const environment = await audited(
        (tx) => renameEnvironment(tx, scope, place, body, server.clock()),
        () => ({ id: params.environment_id, details: { ...body } }),
      );
      return { status: 200, body: toEnvironment(environment) };
    },
  }),
];
