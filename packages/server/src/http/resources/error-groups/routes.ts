import { encodeId, ErrorGroup, ListErrorGroups, type ErrorGroupStatus, type Uuid } from "@keelson/contract";
import { changeErrorGroup } from "../../../core/error-groups/change-error-group.ts";
import {
  findErrorGroup,
  listErrorGroups,
  type ErrorGroupPlace,
} from "../../../core/error-groups/error-group-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import {
  route,
  type ChangeCall,
  type EnvironmentScope,
  type Reply,
  type RouteDefinition,
} from "../../edge/route.ts";
import { toErrorGroup } from "./wire.ts";

/** Error groups: who may cancel runs may say what their failures are. */

const tag = "Error groups";
const read = { in: ["v1", "api"], tag, access: { kind: "environment", permission: "runs.read" } } as const;
const one = { params: { id: Id("err") } } as const;
const change = {
  ...one,
  in: ["v1", "api"],
  tag,
  method: "POST",
  access: { kind: "environment", permission: "runs.cancel" },
  transaction: "required",
  responses: { 200: { description: "The group as it is now.", schema: ErrorGroup } },
} as const;

/** A row's place: what the list is in the order of, and the id. */
const PLACE = /^[0-9]{1,15}:[0-9a-f-]{36}$/;

function placeOf(key: string): ErrorGroupPlace {
  const [value = "", id = ""] = key.split(":");
  return { value: Number(value), id: id as Uuid<"err"> };
}

async function groupReply(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  errorGroupId: Uuid<"err">,
): Promise<Reply> {
  const row = await findErrorGroup(db, environmentId, errorGroupId);
  if (row === null) throw notFound();
  return { status: 200, body: toErrorGroup(row) };
}

async function changeTo(
  status: ErrorGroupStatus,
  { tx, server, scope, audit }: ChangeCall,
  errorGroupId: Uuid<"err">,
): Promise<Reply> {
  const changed = await changeErrorGroup(tx, scope.environmentId, errorGroupId, status, server.clock());
  audit(changed ? { id: encodeId("err", errorGroupId) } : null);
  return groupReply(tx, scope, errorGroupId);
}

export const errorGroupRoutes: RouteDefinition[] = [
  listRoute({
    ...read,
    path: "/error-groups",
    name: "listErrorGroups",
    summary: "List error groups",
    description:
      "Groups of runs that failed in the same way. The group with the latest failure comes first, or the one with the most runs. " +
      "A group that gets a failure while you read the pages may appear twice or not at all.",
    items: "error_groups",
    title: "error groups",
    resource: ErrorGroup,
    query: ListErrorGroups,
    filter: ({ status, task, actor, seen_since, order }) => ({
      statuses: status ?? [],
      task: task ?? null,
      actor: actor ?? null,
      seenSince: seen_since === undefined ? null : Date.parse(seen_since),
      order: order ?? "last_seen",
    }),
    defaults: { order: "last_seen" },
    read: ({ server, scope }, { filter, after, limit }) => {
      const place = after === null ? null : placeOf(after);
      return listErrorGroups(server.db, scope.environmentId, filter, place, limit);
    },
    key: { of: (row) => row.place, pattern: PLACE },
    toWire: toErrorGroup,
  }),
  route({
    ...read,
    ...one,
    method: "GET",
    path: "/error-groups/:id",
    name: "getErrorGroup",
    summary: "Get an error group",
    description: "Its runs are listed by `GET /runs` with `error_group_id`.",
    responses: { 200: { description: "The group.", schema: ErrorGroup } },
    handle: ({ server, scope, params }) => groupReply(server.db, scope, params.id),
  }),
  route({
    ...change,
    path: "/error-groups/:id/resolve",
    name: "resolveErrorGroup",
    summary: "Resolve an error group",
    description:
      "If another run fails in the same way, the group becomes `open` again, and `reopened_at` says when.",
    audit: { action: "error_groups.resolve", resource: "error_group" },
    handle: (call) => changeTo("resolved", call, call.params.id),
  }),
  route({
    ...change,
    path: "/error-groups/:id/mute",
    name: "muteErrorGroup",
    summary: "Mute an error group",
    description: "The group stays `muted` and keeps counting until it is resolved or opened.",
    audit: { action: "error_groups.mute", resource: "error_group" },
    handle: (call) => changeTo("muted", call, call.params.id),
  }),
  route({
    ...change,
    path: "/error-groups/:id/open",
    name: "openErrorGroup",
    summary: "Open an error group",
    description: "Reverts a resolution or a mute.",
    audit: { action: "error_groups.open", resource: "error_group" },
    handle: (call) => changeTo("open", call, call.params.id),
  }),
];
