import { CreateNamed, encodeId, PageQuery, Project, UpdateNamed } from "@keelson/contract";
import { createProject } from "../../../core/identity/create-project.ts";
import { renameProject } from "../../../core/identity/rename-project.ts";
import { findProject, listProjects } from "../../../core/identity/tenancy-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Text } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toProject } from "./wire.ts";

const tag = "Projects";
const ProjectParams = { project_id: Text() };

export const projectRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path: "/projects",
    name: "listProjects",
    summary: "List an organization's projects",
    description: "Newest first, of the organization that the caller names or belongs to.",
    tag,
    access: { kind: "organization", permission: "projects.read" },
    items: "projects",
    resource: Project,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) =>
      listProjects(server.db, scope.organizationId, after, limit),
    toWire: (row) => toProject(row),
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/projects",
    name: "createProject",
    summary: "Create a project",
    description:
      "Creates the project with the environments `development` and `production`. Without a slug, the server derives one from the name. A slug in use is 409 `already_exists`.",
    tag,
    access: { kind: "organization", permission: "projects.write" },
    body: CreateNamed,
    responses: { 201: { description: "The project.", schema: Project } },
    transaction: "required",
    audit: { action: "projects.create", resource: "project" },
    handle: async ({ tx, server: { newUuid, clock }, scope, body, audit }) => {
      const context = { newUuid, now: clock() };
      const project = await createProject(tx, scope, scope.organizationId, body, context);
      audit({ id: encodeId("proj", project.id), details: { name: project.name, slug: project.slug } });
      return { status: 201, body: toProject(project) };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/projects/:project_id",
    name: "getProject",
    summary: "Get a project",
    description: "Only for members of the organization. Others get 404.",
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
    in: ["api"],
    method: "PATCH",
    path: "/projects/:project_id",
    name: "updateProject",
    summary: "Rename a project",
    description: "Changes the name, the slug or both. A slug in use is 409 `already_exists`.",
    tag,
    access: { kind: "project", permission: "projects.write" },
    params: ProjectParams,
    body: UpdateNamed,
    responses: { 200: { description: "The project.", schema: Project } },
    transaction: "required",
    audit: { action: "projects.update", resource: "project" },
    handle: async ({ tx, server, scope, params, body, audit }) => {
      const project = await renameProject(tx, scope, scope, body, server.clock());
      audit({ id: params.project_id, details: { ...body } });
      return { status: 200, body: toProject(project) };
    },
  }),
];
