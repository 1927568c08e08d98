import {
  CreateSavedView,
  encodeId,
  PageQuery,
  SavedView,
  UpdateSavedView,
  type SavedViewFilter,
} from "@keelson/contract";
import { changeView, createView, dropView } from "../../../core/saved-views/save-view.ts";
import {
  listSavedViews,
  type SavedViewRow,
  type ViewOwner,
} from "../../../core/saved-views/saved-view-reads.ts";
import { Id, Text } from "../../edge/params.ts";
import { environmentOf } from "../../edge/project-scope.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type ProjectScope, type RouteDefinition } from "../../edge/route.ts";
import { toTimestamp } from "../../edge/time.ts";
import { runFilterOf } from "../../resources/runs/run-filter.ts";

const tag = "Saved views";
const path = "/projects/:project_id/environments/:environment_id/saved-views";
const EnvironmentParams = { project_id: Text(), environment_id: Text() };
const ViewParams = { ...EnvironmentParams, id: Id("view") };
const common = { in: ["api"], tag, access: { kind: "project", permission: "environments.read" } } as const;
const audit = { none: "A view is how one person looks at runs; it changes nothing for others." } as const;
const EXAMPLE = {
  name: "Failed reports",
  filter: { search: "task:report status:failed", last: "7d" as const },
};

const ownerOf = (scope: ProjectScope): ViewOwner => ({
  environmentId: environmentOf(scope),
  userId: scope.userId,
});

const toSavedView = (row: SavedViewRow): SavedView => ({
  id: encodeId("view", row.id),
  name: row.name,
  filter: JSON.parse(row.filter) as SavedViewFilter,
  columns: row.columns as SavedView["columns"],
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

/** The text of a filter that a list would take. @throws DomainError `invalid_request` */
function textOf(filter: SavedViewFilter): string {
  runFilterOf(filter);
  return JSON.stringify(filter);
}

export const savedViewRoutes: RouteDefinition[] = [
  listRoute({
    ...common,
    path,
    name: "listSavedViews",
    summary: "List your saved views",
    description: "Lists of runs that you named in this environment, newest first. Nobody else sees them.",
    params: EnvironmentParams,
    items: "saved_views",
    title: "saved views",
    resource: SavedView,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) => listSavedViews(server.db, ownerOf(scope), after, limit),
    toWire: (row) => toSavedView(row),
  }),
  route({
    ...common,
    method: "POST",
    path,
    name: "createSavedView",
    summary: "Save a view",
    description: "A person has up to 100 views in an environment. A name in use is 409 `already_exists`.",
    params: EnvironmentParams,
    body: CreateSavedView,
    responses: { 201: { description: "The view.", schema: SavedView } },
    examples: { request: EXAMPLE },
    transaction: "required",
    audit,
    handle: async ({ tx, server: { newUuid, clock }, scope, body }) => {
      const { name, filter, columns = null } = body;
      const content = { name, filter: textOf(filter), columns };
      const view = await createView(tx, ownerOf(scope), { ...content, id: newUuid<"view">(), now: clock() });
      return { status: 201, body: toSavedView(view) };
    },
  }),
  route({
    ...common,
    method: "PATCH",
    path: `${path}/:id`,
    name: "updateSavedView",
    summary: "Change a saved view",
    description: "Changes the fields that are sent. A name in use is 409 `already_exists`.",
    params: ViewParams,
    body: UpdateSavedView,
    responses: { 200: { description: "The view.", schema: SavedView } },
    examples: { request: { name: "Failed reports of this week" } },
    transaction: "required",
    audit,
    handle: async ({ tx, server: { clock }, scope, params, body }) => {
      const { name, filter, columns } = body;
      const view = await changeView(tx, ownerOf(scope), params.id, {
        ...(name !== undefined && { name }),
        ...(filter !== undefined && { filter: textOf(filter) }),
        ...(columns !== undefined && { columns }),
        now: clock(),
      });
      return { status: 200, body: toSavedView(view) };
    },
  }),
  route({
    ...common,
    method: "DELETE",
    path: `${path}/:id`,
    name: "deleteSavedView",
    summary: "Delete a saved view",
    description: "Deletes your view. The runs stay.",
    params: ViewParams,
    responses: { 204: { description: "The view is deleted." } },
    transaction: "required",
    audit,
    handle: async ({ tx, scope, params }) => {
      await dropView(tx, ownerOf(scope), params.id);
      return { status: 204, body: undefined };
    },
  }),
];
