import { AdminOrganization, CreateOrganization, encodeId, Page, pageQuery } from "@keelson/contract";
import { Type } from "typebox";
import { findOrganization, listAllOrganizations } from "../../core/identity/admin-reads.ts";
import { createOrganization } from "../../core/identity/create-organization.ts";
import { notFound } from "../../domain-error.ts";
import { answerPage } from "../answer-page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toAdminOrganization } from "../wire/admin.ts";

const tag = "Organizations";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/organizations";

export const adminOrganizationRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListOrganizations",
    summary: "List all organizations",
    description: "Those of the whole installation, newest first.",
    tag,
    access,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: {
      200: { description: "A page of organizations.", schema: Page("organizations", AdminOrganization) },
    },
    handle: ({ server, query }) =>
      answerPage(
        "organizations",
        query,
        (before, limit) => listAllOrganizations(server.db, before, limit),
        toAdminOrganization,
      ),
  }),
  route({
    family: "admin",
    method: "POST",
    path,
    operationId: "adminCreateOrganization",
    summary: "Create an organization",
    description:
      "With its first owner, who makes its projects. A slug is made from the name unless one is given; one that is taken is 409 `already_exists`.",
    tag,
    access,
    body: CreateOrganization,
    responses: { 201: { description: "The organization.", schema: AdminOrganization } },
    examples: { request: { name: "Research", owner_email: "ada@example.com" } },
    audit: { action: "organizations.create", resource: "organization" },
    handle: async ({ server, body, audited }) => {
      const { newUuid } = server;
      const { organization } = await audited(
        (tx) => createOrganization(tx, body, { newUuid, now: server.clock() }),
        (made) => ({
          id: encodeId("org", made.organization.id),
          details: { slug: made.organization.slug, owner: encodeId("user", made.ownerId) },
        }),
      );
      return { status: 201, body: toAdminOrganization(organization) };
    },
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetOrganization",
    summary: "Get an organization",
    description: "One organization, with how many members and projects it has.",
    tag,
    access,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The organization.", schema: AdminOrganization } },
    handle: async ({ server, params }) => {
      const organization = await findOrganization(server.db, pathId("org", params));
      if (organization === null) throw notFound();
      return { status: 200, body: toAdminOrganization(organization) };
    },
  }),
];
