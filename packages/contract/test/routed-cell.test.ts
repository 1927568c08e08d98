import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { cellOfRequest, formatCredential, type CredentialKind } from "@keelson/contract";

const make = (kind: CredentialKind, cell: string | null): string =>
  formatCredential(kind, randomBytes(96), cell);

describe("the cell of a request", () => {
  const key = make("key", "eu1");
  const secret = make("tkn", "us1");
  const callback = `/api/v1/tokens/tok_1/callback/${secret}`;
  const bearer = `Bearer ${key}`;
  for (const [what, url, authorization, cell] of [
    ["a bearer credential", "/v1/runs", bearer, "eu1"],
    ["a bearer credential in another spelling", "/v1/runs?a=b", `bearer  ${key} `, "eu1"],
    ["a bearer credential without a tag", "/v1/runs", `Bearer ${make("key", null)}`, null],
    ["a credential of somebody else", "/v1/runs", "Bearer eu1", null],
    ["another scheme", "/v1/runs", `Basic ${key}`, null],
    ["wrong check digits", "/v1/runs", `Bearer ${key.replace("_eu1_", "_us1_")}`, null],
    ["no credential", "/v1/runs", undefined, null],
    ["a callback URL", callback, undefined, "us1"],
    ["a callback URL with a query", `${callback}?provider=1`, undefined, "us1"],
    ["a callback URL in percent-encoding", callback.replaceAll("_", "%5F"), undefined, "us1"],
    ["a callback URL, whatever the bearer", callback, bearer, "us1"],
    ["a callback URL without a tag", `/api/v1/tokens/tok_1/callback/${make("tkn", null)}`, bearer, null],
    [
      "a sign-in link",
      `/api/auth/magic-link/finish?x=1&token=${make("lnk", "us1")}&return_to=%2F`,
      undefined,
      "us1",
    ],
    ["a broken path", "/%E0%A4%A/kl", bearer, "eu1"],
    ["all routes", "*", undefined, null],
  ] as const)
    test(`is seen in ${what}`, () => assert.equal(cellOfRequest({ url, authorization }), cell));
});
