// What a client's request says, and what of it a person can give. No browser is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessChoices } from "../src/features/oauth/access-choices.ts";
import { readAuthorizationRequest } from "../src/features/oauth/authorization-request.ts";

test("a request is what its address says, without what this server does not know", () => {
  const search = new URLSearchParams({
    client_id: "ocl_1",
    redirect_uri: "http://127.0.0.1/callback?a=b&c",
    state: "a b+c",
    scope: "",
    prompt: "consent",
  });
  assert.deepEqual(readAuthorizationRequest(`?${search.toString()}`), {
    client_id: "ocl_1",
    redirect_uri: "http://127.0.0.1/callback?a=b&c",
    state: "a b+c",
  });
});

const refusalOf = (search: string): string => {
  const refusal = readAuthorizationRequest(search);
  assert.ok(typeof refusal === "string");
  return refusal;
};

test("an address that says something twice, or not who asks, is no request", () => {
  assert.match(refusalOf("?client_id=a&redirect_uri=b&client_id=c"), /client_id twice/);
  for (const search of ["", "?client_id=a", "?redirect_uri=b", "?client_id=&redirect_uri=b"])
    assert.match(refusalOf(search), /which client asks/);
});

test("a person gives no more than the client asks for, nor than they may do", () => {
  const choices = (...given: Parameters<typeof accessChoices>): string[] =>
    accessChoices(...given).map(([value]) => value);
  assert.deepEqual(choices("write", ["tasks.read", "tasks.start"]), ["read", "write"]);
  assert.deepEqual(choices("read", ["tasks.read", "tasks.start"]), ["read"]);
  assert.deepEqual(choices("write", ["tasks.read"]), ["read"]);
});
