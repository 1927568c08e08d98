// The rule of a router in front of cells sees the credential that the server reads, on every route.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, test } from "node:test";
import { cellOfRequest, formatCredential, readCredential, type CredentialKind } from "@keelson/contract";
import type { TSchema } from "typebox";
import { SESSION_COOKIE } from "../../src/http/edge/cookies.ts";
import { findCredential } from "../../src/http/edge/authenticate/find-credential.ts";
import type { Route } from "../../src/http/edge/route.ts";
import { routes } from "../../src/http/routes.ts";

/**
 * Public routes with a credential in the path, the query or the body. A router sees the first two. The third is of people, who sign
 * in at one cell for each host name, or of a worker, which shows its credential as a bearer besides.
 */
const ARGUMENTS: Record<string, "path" | "query" | "body of people" | "body and bearer of workers"> = {
  callbackCompleteToken: "path",
  openMagicLink: "query",
  finishMagicLink: "body of people",
  askDeviceToken: "body of people",
  askOauthToken: "body of people",
  revokeOauthToken: "body of people",
  mintWorkerToken: "body and bearer of workers",
  apiWorkerMintWorkerToken: "body and bearer of workers",
};

const credential = (kind: CredentialKind, cell: string): string =>
  formatCredential(kind, randomBytes(96), cell);

const fieldsOf = (schema: (TSchema & { properties?: object }) | undefined): string[] =>
  Object.keys(schema?.properties ?? {});

/** Names that fields of the wire with a credential have. */
const isOfCredential = (name: string): boolean => /(^|_)(token|secret|device_code)$/.test(name);

const hasArgument = ({ path, query, body }: Route): boolean =>
  path.includes(":secret") || [...fieldsOf(query), ...fieldsOf(body)].some(isOfCredential);

const secret = credential("tkn", "path1");
const filled = (path: string): string =>
  path
    .replace(":secret", secret)
    .replaceAll(/:[a-z_]+/gi, "x")
    .replaceAll("*", "x");

const asServer = (route: Route, headers: IncomingMessage["headers"]): string | null => {
  const shown = findCredential({ headers } as IncomingMessage, route, false);
  return shown === null ? null : (readCredential(shown.text)?.cell ?? null);
};

for (const route of routes) {
  const url = filled(route.path);
  describe(`${route.method} ${route.path}`, () => {
    if (route.access.kind !== "public") {
      test("is routed by the bearer credential that the server reads", () => {
        const authorization = `Bearer ${credential("key", "cell1")}`;
        const cookie = `${SESSION_COOKIE}=${credential("usr", "cell2")}`;
        assert.equal(asServer(route, { authorization, cookie }), "cell1");
        assert.equal(cellOfRequest({ url, authorization }), "cell1");
      });

      test("has its credential nowhere else", () => assert.ok(!url.includes(secret)));
      return;
    }

    test("reads no bearer credential, and is routed by an argument that is one", () => {
      const authorization = `Bearer ${credential("key", "cell1")}`;
      assert.equal(asServer(route, { authorization }), null);
      switch (ARGUMENTS[route.operationId]) {
        case "path":
          assert.equal(cellOfRequest({ url, authorization }), "path1");
          break;
        case "query": {
          const withToken = `${url}?token=${credential("lnk", "query1")}`;
          assert.equal(cellOfRequest({ url: withToken, authorization }), "query1");
          break;
        }
        case "body and bearer of workers":
          assert.equal(cellOfRequest({ url, authorization }), "cell1");
          break;
        default:
          assert.equal(cellOfRequest({ url, authorization: undefined }), null);
      }
    });
  });
}

test("all public routes with a credential as an argument are known here", () => {
  const found = routes.filter((route) => route.access.kind === "public" && hasArgument(route));
  assert.deepEqual(found.map(({ operationId }) => operationId).toSorted(), Object.keys(ARGUMENTS).toSorted());
});
