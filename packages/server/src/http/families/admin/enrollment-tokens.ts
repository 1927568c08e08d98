import {
  CreatedEnrollmentToken,
  CreateEnrollmentToken,
  encodeId,
  EnrollmentToken,
  PageQuery,
} from "@keelson/contract";
import { createEnrollmentToken } from "../../../core/workers/create-enrollment-token.ts";
import { revokeEnrollmentToken } from "../../../core/workers/revoke-enrollment-token.ts";
import { findEnrollmentToken, listEnrollmentTokens } from "../../../core/workers/worker-group-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toEnrollmentToken } from "./wire.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/enrollment-tokens";
const TokenParams = { id: Id("enr") };

export const adminEnrollmentTokenRoutes: RouteDefinition[] = [
  listRoute({
    in: ["admin"],
    path,
    name: "adminListEnrollmentTokens",
    summary: "List enrollment tokens",
    description: "Newest first, without revoked ones.",
    tag,
    access,
    items: "enrollment_tokens",
    title: "tokens",
    resource: EnrollmentToken,
    query: PageQuery,
    read: ({ server }, { after, limit }) => listEnrollmentTokens(server.db, after, limit),
    toWire: (row) => toEnrollmentToken(row),
  }),
  route({
    in: ["admin"],
    method: "POST",
    path,
    name: "adminCreateEnrollmentToken",
    summary: "Create an enrollment token",
    description:
      "Any number of agents can enroll with this token. Only this answer shows the token; the server stores its digest.",
    tag,
    access,
    body: CreateEnrollmentToken,
    responses: { 201: { description: "The token, with its text.", schema: CreatedEnrollmentToken } },
    examples: {
      request: { name: "Cluster A", worker_group_id: "wgrp_01kahvn09zf5h9c5b7n2d8r6ta", expires_in: "30d" },
    },
    transaction: "required",
    audit: { action: "enrollment_tokens.create", resource: "enrollment_token" },
    handle: async ({ tx, server: { newUuid, makeCredential, clock }, body, audit }) => {
      const context = { newUuid, makeCredential, now: clock() };
      const { token, text } = await createEnrollmentToken(tx, body, context);
      const details = { name: token.name, worker_group_id: body.worker_group_id };
      audit({ id: encodeId("enr", token.id), details });
      return { status: 201, body: { ...toEnrollmentToken(token), enrollment_token: text } };
    },
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetEnrollmentToken",
    summary: "Get an enrollment token",
    description:
      "Also shows revoked and expired tokens. The text of a token is shown only when it is created.",
    tag,
    access,
    params: TokenParams,
    responses: { 200: { description: "The token.", schema: EnrollmentToken } },
    handle: async ({ server, params }) => {
      const token = await findEnrollmentToken(server.db, params.id);
      if (token === null) throw notFound();
      return { status: 200, body: toEnrollmentToken(token) };
    },
  }),
  route({
    in: ["admin"],
    method: "DELETE",
    path: `${path}/:id`,
    name: "adminRevokeEnrollmentToken",
    summary: "Revoke an enrollment token",
    description:
      "Agents can no longer enroll with the token. Enrolled workers stay. Revoking again changes nothing.",
    tag,
    access,
    params: TokenParams,
    responses: { 204: { description: "The token is revoked." } },
    transaction: "required",
    audit: { action: "enrollment_tokens.revoke", resource: "enrollment_token" },
    handle: async ({ tx, server, params, audit }) => {
      const revoked = await revokeEnrollmentToken(tx, params.id, server.clock());
      audit(revoked ? { id: encodeId("enr", params.id) } : null);
      return { status: 204, body: undefined };
    },
  }),
];
