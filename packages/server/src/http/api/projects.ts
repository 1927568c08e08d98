import { CreateNamed, encodeId, Page, pageQuery, Project, UpdateNamed } from "@keelson/contract";
import { Type } from "typebox";
import { createProject } from "../../core/identity/create-project.ts";
import { renameProject } from "../../core/identity/rename-project.ts";
import { findProject, listProjects } from "../../core/identity/tenancy-reads.ts";
import { notFound } from "../../domain-error.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { route, type Route } from "../route.ts";
import { toProject } from "../wire/identity.ts";

const LIST = "projects";
const tag = "Projects";
const ProjectParams = Type.Object({ project_id: Type.String() });

export const projectRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/projects",
    operationId: "listProjects",
    summary: "List an organization's projects",
    description: "Newest first, of the one organization that the caller names or is in.",
    tag,
    access: { kind: "organization", permission: "projects.read" },
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of projects.", schema: Page(LIST, Project) } },
    handle: async ({ server, scope, query }) => {
      const { organizationId } = scope;
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, organizationId, query.cursor);
      const rows = await listProjects(server.db, organizationId, before, limit + 1);
      const page = toPage(rows, limit, ({ id }) => encodeCursor(LIST, organizationId, id));
      return { status: 200, body: { projects: page.rows.map(toProject), next_cursor: page.nextCursor } };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/projects",
    operationId: "createProject",
    summary: "Create a project",
    description:
      "With the environments `development` and `production`. A slug is made from the name unless one is given; one that is taken is 409 `already_exists`.",
    tag,
    access: { kind: "organization", permission: "projects.write" },
    body: CreateNamed,
    responses: { 201: { description: "The project.", schema: Project } },
    audit: { action: "projects.create", resource: "project" },
    handle: async ({ server, scope, body, audited }) => {
      const { newUuid } = server;
      const project = await audited(
        (tx) => createProject(tx, scope, scope.organizationId, body, { newUuid, now: server.clock() }),
        ({ id, name, slug }) => ({ id: encodeId("proj", id), details: { name, slug } }),
      );
      return { status: 201, body: toProject(project) };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/projects/:project_id",
    operationId: "getProject",
    summary: "Get a project",
    description: "For members of its organization; to others it is not there.",
    tag,
    access: { kind: "project", permission: "projects.read" },
    params: ProjectParams,
    responses: { 200: { description: "The project.", schema: Project } },
    handle: async ({ server, scope }) => {
      const project = await findProject(server.db, scope.organizationId, scope.projectId);
      if (project === null) throw notFound();
      return { status: 200, body: toProject(project) };
    },
  }),
  route({
    family: "api",
    method: "PATCH",
    path: "/api/projects/:project_id",
    operationId: "updateProject",
    summary: "Rename a project",
    description: "Name, slug or both; a slug that is taken is 409 `already_exists`.",
    tag,
    access: { kind: "project", permission: "projects.write" },
    params: ProjectParams,
    body: UpdateNamed,
    responses: { 200: { description: "The project.", schema: Project } },
    audit: { action: "projects.update", resource: "project" },
    handle: async ({ server, scope, params, body, audited }) => {
      const project = await audited(
        (tx) => renameProject(tx, scope, scope, body, server.clock()),
        () => ({ id: params.project_id, details: { ...body } }),
      );
      return { status: 200, body: toProject(project) };
    },
  }),
];
