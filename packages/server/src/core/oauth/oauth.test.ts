import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  askedAccess,
  clientName,
  decideFirst,
  decideRefresh,
  isRegistered,
  isResource,
  REPEAT_MS,
  withAnswer,
  type GrantState,
} from "./oauth.ts";

const NOW = 1_800_000_000_000;
const grant = (state: Partial<GrantState>): GrantState => ({
  generation: 3,
  usedGeneration: 3,
  generationBeganAt: NOW - REPEAT_MS - 1,
  expiresAt: NOW + 1,
  revokedAt: null,
  ...state,
});

describe("the tokens of a grant", () => {
  for (const [what, state, kind] of [
    ["its first ones", { generation: 0, usedGeneration: 0, generationBeganAt: null }, "begin"],
    ["too late", { generation: 0, expiresAt: NOW }, "none"],
    ["of a revoked one", { generation: 0, revokedAt: NOW }, "none"],
    ["a second time", {}, "revoke"],
    ["a second time, when it has expired", { expiresAt: NOW }, "revoke"],
    ["a second time of a revoked one", { revokedAt: NOW }, "none"],
  ] as const)
    test(`by its code, ${what}: ${kind}`, () => {
      assert.equal(decideFirst(grant(state), NOW).kind, kind);
    });

  for (const [what, generation, state, kind] of [
    ["the newest", 3, {}, "begin"],
    ["the newest, of an expired grant", 3, { expiresAt: NOW }, "none"],
    ["the newest, of a revoked grant", 3, { revokedAt: NOW }, "none"],
    ["the one before, used and late", 2, {}, "revoke"],
    ["the one before, within a minute", 2, { generationBeganAt: NOW - REPEAT_MS }, "repeat"],
    ["the one before, whose answer nobody used", 2, { usedGeneration: 2 }, "repeat"],
    ["the one before that", 1, { usedGeneration: 0, generationBeganAt: NOW }, "revoke"],
  ] as const)
    test(`by a refresh token, ${what}: ${kind}`, () => {
      const decision = decideRefresh(grant(state), generation, NOW);
      assert.equal(decision.kind, kind);
      if (decision.kind === "begin") assert.equal(decision.generation, 4);
      if (decision.kind === "repeat") assert.equal(decision.generation, 3);
    });
});

test("an answer goes to an address as it was registered, but for the port of the client's own machine", () => {
  const registered = ["https://app.example.com/back", "http://127.0.0.1/cb?a=1", "http://[::1]:9/x"];
  for (const [asked, fits] of [
    ["https://app.example.com/back", true],
    ["https://app.example.com/back/", false],
    ["https://app.example.com:443/back", false],
    ["https://APP.example.com/back", false],
    ["http://127.0.0.1:4000/cb?a=1", true],
    ["http://127.0.0.1:4000/cb", false],
    ["http://localhost:4000/cb?a=1", false],
    ["https://127.0.0.1:4000/cb?a=1", false],
    ["http://[::1]/x", true],
    ["http://127.0.0.1:4000/cb?a=1#b", false],
    ["http://u@127.0.0.1:4000/cb?a=1", false],
  ] as const)
    assert.equal(isRegistered(registered, asked), fits, asked);
});

test("a client asks for all, unless it says less", () => {
  assert.deepEqual(
    [undefined, "", "mcp:read", "mcp:read mcp:write", "mcp:write offline_access", "admin"].map(askedAccess),
    ["write", "write", "read", "write", "write", null],
  );
});

test("the resource is known by its address", () => {
  const own = "https://host.example/mcp";
  for (const [asked, fits] of [
    [undefined, true],
    [own, true],
    ["https://HOST.example:443/mcp/?readonly=1", true],
    ["https://host.example/", false],
    ["http://host.example/mcp", false],
    [`${own}#a`, false],
    ["mcp", false],
  ] as const)
    assert.equal(isResource(asked, own), fits, asked);
});

test("a name is kept on one line, without what is not seen", () => {
  assert.equal(clientName("  A\u202e\nB\u0000\ud800 "), "A B");
  assert.equal(clientName("\u200b"), null);
  assert.equal(clientName(undefined), null);
});

test("an answer is added to the query that the address has", () => {
  assert.equal(
    withAnswer("https://a.example/b?x=1", { code: "c d", state: undefined, iss: "https://k.example" }),
    "https://a.example/b?x=1&code=c+d&iss=https%3A%2F%2Fk.example",
  );
});
