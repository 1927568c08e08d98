// JSON that two readers may understand differently is refused wherever it would be stored (I-JSON, RFC 7493).

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { routes } from "../../src/http/routes.ts";
import type { Route } from "../../src/http/edge/route.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { addUser } from "../support/tenancy.ts";

let server: ApiServer;
let user: string;
before(async () => {
  server = await startApiServer();
  user = await addUser(server, "owner");
});
after(() => server.stop());

/** A text that is not I-JSON in place of a member, and the rest of its path. */
const ODD = [
  ["a number that a double does not hold", "9007199254740993", ""],
  ["a number that would become 0", '{"a":[1,1e-400]}', ".a.1"],
  ["a key that is there twice", '{"a":1,"a":2}', ".a"],
  ["half of a surrogate pair", String.raw`["\ud800"]`, ".0"],
  ["NUL", String.raw`{"a":"\u0000"}`, ".a"],
] as const;

/** Null: nobody is known, as on a route that is public. Undefined: needs a credential that is made for one thing. */
function credentialFor({ access }: Route): string | null | undefined {
  switch (access.kind) {
    case "environment":
    case "caller":
      return server.credentials.api_key;
    case "organization":
    case "project":
    case "user":
      return user;
    case "admin":
      return server.credentials.admin_key;
    case "public":
    case "visitor":
      return null;
    default:
      return undefined;
  }
}

/** Signing in is counted for each address; what workers send is written from values by `JSON.stringify`. */
const takesJson = (route: Route): boolean =>
  route.body !== undefined && route.signIn === undefined && route.access.kind !== "worker";

describe("a body that is not I-JSON", () => {
  const families = new Set<string>();
  for (const route of routes.filter(takesJson)) {
    test(`is refused by ${route.method} ${route.path}`, async (t) => {
      const as = credentialFor(route);
      if (as === undefined) return t.skip(`needs a ${route.access.kind} credential`);
      families.add(`${route.family} ${route.tag}`);
      const path = route.path.replaceAll(/:[a-z_]+/g, "x");
      for (const [what, text, below] of ODD) {
        const answer = await server.call(route.method, path, {
          as,
          bytes: Buffer.from(`{"member":${text}}`),
          headers: { "content-type": "application/json" },
        });
        assert.equal(answer.status, 400, `${what}: ${answer.text}`);
        assert.equal(answer.body.error.code, "invalid_request");
        assert.equal(answer.body.error.details.issues[0].path, `member${below}`, what);
      }
    });
  }

  test("is refused in every family that takes JSON of users", () => {
    assert.ok(families.size >= 20, [...families].join(", "));
  });
});
