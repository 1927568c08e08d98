import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PUBLIC_FILE_PERMISSIONS, PUBLIC_STREAM_PERMISSIONS, type Uuid } from "@keelson/contract";
import { decideFileUse, decideUse, directionOf, type StreamAccess, type WantedUse } from "./public-access.ts";

for (const permission of PUBLIC_STREAM_PERMISSIONS) {
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
  const other = PUBLIC_STREAM_PERMISSIONS.find((name) => name !== permission) ?? permission;

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

for (const permission of PUBLIC_FILE_PERMISSIONS) {
  const access: StreamAccess = {
    id: "pat" as Uuid<"pat">,
    environmentId: "env" as Uuid<"env">,
    permission,
    sessionId: "session" as Uuid<"sess">,
    streamIds: [],
    correlationId: null,
    maxUses: 1,
  };
  const own = access.sessionId;
  const other = PUBLIC_FILE_PERMISSIONS.find((name) => name !== permission) ?? permission;
  const chat: StreamAccess = { ...access, permission: "session.chat" };

  describe(`a token for ${permission}`, () => {
    for (const [what, token, wanted, sessionId, outcome] of [
      ["the files of its session", access, permission, own, "allow"],
      ["them in a conversation", chat, permission, own, "allow"],
      ["them in one exchange", { ...chat, correlationId: "one" }, permission, own, "refuse"],
      ["the other permission", access, other, own, "refuse"],
      ["another session", access, permission, "other" as Uuid<"sess">, "refuse"],
      ["no session", access, permission, null, "refuse"],
      [
        "files by a token for a stream",
        { ...access, permission: "session.output.read" },
        permission,
        own,
        "refuse",
      ],
    ] as const) {
      test(`${outcome}s ${what}`, () => assert.equal(decideFileUse(token, wanted, sessionId).kind, outcome));
    }
  });
}
