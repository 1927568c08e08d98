import {
  AnswerDevice,
  AskDeviceToken,
  DeviceAuthorization,
  DeviceToken,
  StartDevice,
  StartedDevice,
} from "@keelson/contract";
import { answerDevice, findDevice, type FoundDevice } from "../../core/logins/answer-device.ts";
import { askDeviceToken } from "../../core/logins/ask-device-token.ts";
import type { DeviceRow } from "../../core/logins/device-reads.ts";
import {
  CODE_FAILURE_WINDOW_MS,
  DEVICE_CODE_MS,
  DEVICE_INTERVAL_SECONDS,
  USER_SESSION_MS,
} from "../../core/logins/login.ts";
import { startDevice } from "../../core/logins/start-device.ts";
import { DomainError } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import { UNAUDITED, type Audited } from "../audit.ts";
import { route, type Route, type UserScope } from "../route.ts";
import { signIn, SIGN_IN } from "../sign-in.ts";
import { toUser } from "../wire/identity.ts";
import { toDeviceAuthorization } from "../wire/login.ts";

const tag = "Signing in";
const NO_STORE = { "cache-control": "no-store" };

/** @throws DomainError `not_found`, `rate_limited` */
function requireFound(found: FoundDevice): DeviceRow {
  switch (found.kind) {
    case "found":
      return found.device;
    case "unknown":
      throw new DomainError(
        "not_found",
        "No device shows this code, or it is older than 15 minutes. Check the code, or start again there.",
      );
    case "limited":
      throw new DomainError("rate_limited", "Too many wrong codes. Try again in 15 minutes.", {
        retry_after_seconds: CODE_FAILURE_WINDOW_MS / 1_000,
      });
  }
}

async function answer(
  {
    server,
    scope,
    audited,
    body,
  }: { server: ServerContext; scope: UserScope; audited: Audited; body: AnswerDevice },
  to: "approved" | "denied",
) {
  // A wrong code is written down, too, so that few can be tried; it is no answer to any device.
  const found = await audited(
    (tx) => answerDevice(tx, scope, body.user_code, to, server.clock()),
    (answered) =>
      answered.kind === "found" ? { id: null, details: { client_id: answered.device.clientId } } : null,
  );
  return { status: 200, body: toDeviceAuthorization(requireFound(found)) };
}

export const deviceRoutes: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/device/start",
    operationId: "startDevice",
    summary: "Begin the sign-in of a device",
    description:
      "As RFC 8628, in JSON: show the `user_code` and the `verification_uri`, then ask for the token every `interval` seconds.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: StartDevice,
    audit: UNAUDITED.asking,
    responses: { 200: { description: "The codes.", schema: StartedDevice } },
    handle: async ({ server, body }) => {
      const { makeCredential, randomBytes } = server;
      const context = { makeCredential, randomBytes, now: server.clock() };
      const { deviceCode, userCode } = await server.db.transaction((tx) =>
        startDevice(tx, body.client_id ?? null, context),
      );
      const uri = `${server.publicUrl()}/device`;
      const started: StartedDevice = {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: uri,
        verification_uri_complete: `${uri}#user_code=${userCode}`,
        expires_in: DEVICE_CODE_MS / 1_000,
        interval: DEVICE_INTERVAL_SECONDS,
      };
      return { status: 200, headers: NO_STORE, body: started };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/device/token",
    operationId: "askDeviceToken",
    summary: "Ask for the session of a device",
    description:
      "400 `authorization_pending` until someone approves; `slow_down` when asked too often, which adds 5 seconds to the interval; " +
      "`expired_token` and `access_denied` end it. The session is given once.",
    tag,
    access: { kind: "public" },
    signIn: "poll",
    body: AskDeviceToken,
    responses: { 200: { description: "Signed in.", schema: DeviceToken } },
    audit: SIGN_IN,
    handle: async ({ server, body, audited }) => {
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const asked = await audited(
        (tx) => askDeviceToken(tx, body.device_code, context),
        (answered) => (answered.kind === "session" ? signIn(answered) : null),
      );
      if (asked.kind === "refuse") throw new DomainError(asked.code, asked.message);
      const token: DeviceToken = {
        access_token: asked.session.text,
        token_type: "Bearer",
        expires_in: USER_SESSION_MS / 1_000,
        user: toUser(asked.user),
      };
      return { status: 200, headers: NO_STORE, body: token };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/auth/device/status",
    operationId: "getDeviceStatus",
    summary: "See which device shows a code",
    description:
      "For the person who is to approve it. Ten wrong codes are 429 `rate_limited` for 15 minutes.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    query: AnswerDevice,
    responses: { 200: { description: "The device.", schema: DeviceAuthorization } },
    handle: async ({ server, scope, query }) => {
      const found = await server.db.transaction((tx) =>
        findDevice(tx, scope, query.user_code, server.clock()),
      );
      return { status: 200, body: toDeviceAuthorization(requireFound(found)) };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/device/approve",
    operationId: "approveDevice",
    summary: "Approve a device",
    description: "It gets a session of the caller. One that was answered before is 409 `invalid_state`.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    body: AnswerDevice,
    responses: { 200: { description: "The device, approved.", schema: DeviceAuthorization } },
    audit: { action: "devices.approve", resource: "device" },
    handle: (call) => answer(call, "approved"),
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/device/deny",
    operationId: "denyDevice",
    summary: "Deny a device",
    description: "It is told `access_denied`. One that was answered before is 409 `invalid_state`.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    body: AnswerDevice,
    responses: { 200: { description: "The device, denied.", schema: DeviceAuthorization } },
    audit: { action: "devices.deny", resource: "device" },
    handle: (call) => answer(call, "denied"),
  }),
];
