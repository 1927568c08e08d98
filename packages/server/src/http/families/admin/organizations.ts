import { AdminOrganization, CreateOrganization, encodeId, PageQuery } from "@keelson/contract";
import { findOrganization, listAllOrganizations } from "../../../core/identity/admin-reads.ts";
import { createOrganization } from "../../../core/identity/create-organization.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toAdminOrganization } from "./wire.ts";

const tag = "Organizations";
const access = { kind: "admin" } as const;
const path = "/organizations";

export const adminOrganizationRoutes: RouteDefinition[] = [
  listRoute({
    in: ["admin"],
    path,
    name: "adminListOrganizations",
    summary: "List all organizations",
    description: "All of the installation, newest first.",
    tag,
    access,
    items: "organizations",
    resource: AdminOrganization,
    query: PageQuery,
    read: ({ server }, { after, limit }) => listAllOrganizations(server.db, after, limit),
    toWire: (row) => toAdminOrganization(row),
  }),
  route({
    in: ["admin"],
    method: "POST",
    path,
    name: "adminCreateOrganization",
    summary: "Create an organization",
    description:
      "Creates the organization with its first owner. Without a slug, the server derives one from the name. A slug in use is 409 `already_exists`.",
    tag,
    access,
    body: CreateOrganization,
    responses: { 201: { description: "The organization.", schema: AdminOrganization } },
    examples: { request: { name: "Research", owner_email: "ada@example.com" } },
    transaction: "required",
    audit: { action: "organizations.create", resource: "organization" },
    handle: async ({ tx, server: { newUuid, clock }, body, audit }) => {
      const { organization, ownerId } = await createOrganization(tx, body, { newUuid, now: clock() });
      const details = { slug: organization.slug, owner: encodeId("user", ownerId) };
      audit({ id: encodeId("org", organization.id), details });
      return { status: 201, body: toAdminOrganization(organization) };
    },
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetOrganization",
    summary: "Get an organization",
    description: "One organization, with how many members and projects it has.",
    tag,
    access,
    params: { id: Id("org") },
    responses: { 200: { description: "The organization.", schema: AdminOrganization } },
    handle: async ({ server, params }) => {
      const organization = await findOrganization(server.db, params.id);
      if (organization === null) throw notFound();
      return { status: 200, body: toAdminOrganization(organization) };
    },
  }),
];
