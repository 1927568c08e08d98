import {
  CreatedEnrollmentToken,
  CreateEnrollmentToken,
  encodeId,
  EnrollmentToken,
  Page,
  pageQuery,
} from "@keelson/contract";
import { Type } from "typebox";
import { createEnrollmentToken } from "../../core/workers/create-enrollment-token.ts";
import { revokeEnrollmentToken } from "../../core/workers/revoke-enrollment-token.ts";
import { findEnrollmentToken, listEnrollmentTokens } from "../../core/workers/worker-group-reads.ts";
import { notFound } from "../../domain-error.ts";
import { answerPage } from "../answer-page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toEnrollmentToken } from "../wire/admin.ts";

const tag = "Workers";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/enrollment-tokens";
const TokenParams = Type.Object({ id: Type.String() });

export const adminEnrollmentTokenRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListEnrollmentTokens",
    summary: "List enrollment tokens",
    description: "Newest first, without those that were revoked.",
    tag,
    access,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: {
      200: { description: "A page of tokens.", schema: Page("enrollment_tokens", EnrollmentToken) },
    },
    handle: ({ server, query }) =>
      answerPage(
        "enrollment_tokens",
        query,
        (before, limit) => listEnrollmentTokens(server.db, before, limit),
        toEnrollmentToken,
      ),
  }),
  route({
    family: "admin",
    method: "POST",
    path,
    operationId: "adminCreateEnrollmentToken",
    summary: "Create an enrollment token",
    description:
      "Machines that have it enroll as workers of the group, as many as like. It is in the answer and shown nowhere else; only its digest is stored.",
    tag,
    access,
    body: CreateEnrollmentToken,
    responses: { 201: { description: "The token, with its text.", schema: CreatedEnrollmentToken } },
    examples: {
      request: { name: "Cluster A", worker_group_id: "wgrp_01kahvn09zf5h9c5b7n2d8r6ta", expires_in: "30d" },
    },
    audit: { action: "enrollment_tokens.create", resource: "enrollment_token" },
    handle: async ({ server, body, audited }) => {
      const { newUuid, makeCredential } = server;
      const created = await audited(
        (tx) => createEnrollmentToken(tx, body, { newUuid, makeCredential, now: server.clock() }),
        ({ token }) => ({
          id: encodeId("enr", token.id),
          details: { name: token.name, worker_group_id: body.worker_group_id },
        }),
      );
      return {
        status: 201,
        body: { ...toEnrollmentToken(created.token), enrollment_token: created.text },
      };
    },
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetEnrollmentToken",
    summary: "Get an enrollment token",
    description: "Also one that was revoked or has expired. Its text is shown at its creation alone.",
    tag,
    access,
    params: TokenParams,
    responses: { 200: { description: "The token.", schema: EnrollmentToken } },
    handle: async ({ server, params }) => {
      const token = await findEnrollmentToken(server.db, pathId("enr", params));
      if (token === null) throw notFound();
      return { status: 200, body: toEnrollmentToken(token) };
    },
  }),
  route({
    family: "admin",
    method: "DELETE",
    path: `${path}/:id`,
    operationId: "adminRevokeEnrollmentToken",
    summary: "Revoke an enrollment token",
    description:
      "No machine enrolls with it from here on; workers that did stay. Revoking it again changes nothing.",
    tag,
    access,
    params: TokenParams,
    responses: { 204: { description: "The token is revoked." } },
    audit: { action: "enrollment_tokens.revoke", resource: "enrollment_token" },
    handle: async ({ server, params, audited }) => {
      const tokenId = pathId("enr", params);
      await audited(
        (tx) => revokeEnrollmentToken(tx, tokenId, server.clock()),
        (revoked) => (revoked ? { id: params.id } : null),
      );
      return { status: 204, body: undefined };
    },
  }),
];
