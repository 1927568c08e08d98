import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PUBLIC_SESSION_PERMISSIONS, type Uuid } from "@keelson/contract";
import { decideUse, directionOf, type StreamAccess, type WantedUse } from "./public-access.ts";

for (const permission of PUBLIC_SESSION_PERMISSIONS) {
  const access: StreamAccess = {
    id: "pat" as Uuid<"pat">,
    environmentId: "env" as Uuid<"env">,
    permission,
    sessionId: "session" as Uuid<"sess">,
    streamIds: ["stream" as Uuid<"strm">],
    correlationId: null,
    maxUses: 1,
  };
  const stream = {
    id: "stream" as Uuid<"strm">,
    sessionId: access.sessionId,
    direction: directionOf(permission),
  };
  const wanted: WantedUse = { permission, stream, correlationIds: [null] };
  const bound = { ...access, correlationId: "one" };
  const other = PUBLIC_SESSION_PERMISSIONS.find((name) => name !== permission) ?? permission;

  describe(`a token for ${permission}`, () => {
    for (const [what, token, use, outcome] of [
      ["its stream", access, wanted, "allow"],
      ["its stream with a correlation id", access, { ...wanted, correlationIds: ["a", "b"] }, "allow"],
      ["the other permission", access, { ...wanted, permission: other }, "refuse"],
      ["no stream", access, { ...wanted, stream: null }, "refuse"],
      ["another stream", access, { ...wanted, stream: { ...stream, id: "other" as Uuid<"strm"> } }, "refuse"],
      [
        "another session",
        access,
        { ...wanted, stream: { ...stream, sessionId: "other" as Uuid<"sess"> } },
        "refuse",
      ],
      [
        "the other direction",
        access,
        { ...wanted, stream: { ...stream, direction: directionOf(other) } },
        "refuse",
      ],
      ["its correlation id", bound, { ...wanted, correlationIds: ["one", "one"] }, "allow"],
      ["another correlation id", bound, { ...wanted, correlationIds: ["two"] }, "refuse"],
      ["a record among others with another", bound, { ...wanted, correlationIds: ["one", "two"] }, "refuse"],
      ["no correlation id", bound, { ...wanted, correlationIds: [null] }, "refuse"],
    ] as const) {
      test(`${outcome}s ${what}`, () => assert.equal(decideUse(token, use).kind, outcome));
    }
  });
}
