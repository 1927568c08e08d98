import {
  AnswerDevice,
  ApproveDevice,
  AskDeviceToken,
  DeviceAuthorization,
  DeviceToken,
  StartDevice,
  StartedDevice,
} from "@keelson/contract";
import { answerDevice, findDevice, type FoundDevice } from "../../../core/logins/answer-device.ts";
import type { DeviceRow } from "../../../core/logins/device-reads.ts";
import { askDeviceToken } from "../../../core/logins/ask-device-token.ts";
import { CODE_FAILURE_WINDOW_MS, USER_SESSION_MS } from "../../../core/logins/login.ts";
import { startDevice } from "../../../core/logins/start-device.ts";
import { approveDevice } from "../../../core/oauth/approve-device.ts";
import type { MadeGrant } from "../../../core/oauth/make-grant.ts";
import { DomainError } from "../../../domain-error.ts";
import { UNAUDITED, type AuditTarget } from "../../edge/audit.ts";
import { route, type Refusal, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { fromChosen, grantMade } from "../oauth/wire.ts";
import { signIn, SIGN_IN } from "./sign-in.ts";
import { toUser } from "../account/wire.ts";
import { toDeviceAuthorization, toStartedDevice } from "./wire.ts";

const tag = "Signing in";

/** A wrong code is written down, so that few can be tried: what is refused stays done. */
function deviceReply(found: FoundDevice): Reply | Refusal {
  switch (found.kind) {
    case "found":
      return { status: 200, body: toDeviceAuthorization(found.device) };
    case "unknown":
      return refused(
        "not_found",
        "No device shows this code, or it is older than 15 minutes. Check the code, or start again there.",
      );
    case "limited":
      return refused("rate_limited", "Too many wrong codes. Try again in 15 minutes.", {
        retry_after_seconds: CODE_FAILURE_WINDOW_MS / 1_000,
      });
  }
}

const refused = (...refusal: ConstructorParameters<typeof DomainError>): Refusal => ({
  refusal: new DomainError(...refusal),
});

/** What an answer leaves in the audit log: of a client it is the grant, where it is for. */
function answered(device: DeviceRow, grant: MadeGrant | null): AuditTarget {
  const { oauthClientId, clientId } = device;
  if (grant !== null && oauthClientId !== null)
    return grantMade(grant, { id: oauthClientId, name: clientId }, null, "device");
  return { id: null, details: { client_id: clientId } };
}

export const deviceRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/device/start",
    name: "startDevice",
    summary: "Begin the sign-in of a device",
    description:
      "As RFC 8628, in JSON: show the `user_code` and the `verification_uri`, then ask for the token every `interval` seconds.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: StartDevice,
    audit: UNAUDITED.asking,
    responses: { 200: { description: "The codes.", schema: StartedDevice } },
    transaction: "required",
    handle: async ({ tx, server, body }) => {
      const { makeCredential, randomBytes } = server;
      const context = { makeCredential, randomBytes, now: server.clock() };
      const started = await startDevice(tx, { clientId: body.client_id ?? null, oauth: null }, context);
      return { status: 200, body: toStartedDevice(started, server.publicUrl()) };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/device/token",
    name: "askDeviceToken",
    summary: "Ask for the session of a device",
    description:
      "400 `authorization_pending` until a person approves. Calls that are too frequent get `slow_down`, which adds 5 seconds to the interval. " +
      "`expired_token` and `access_denied` end the sign-in. The session is returned once.",
    tag,
    access: { kind: "public" },
    signIn: "poll",
    body: AskDeviceToken,
    responses: { 200: { description: "Signed in.", schema: DeviceToken } },
    transaction: "required",
    audit: SIGN_IN,
    handle: async ({ tx, server: { newUuid, makeCredential, clock }, body, audit }) => {
      const asked = await askDeviceToken(tx, body.device_code, { newUuid, makeCredential, now: clock() });
      if (asked.kind === "refuse") return refused(asked.code, asked.message);
      audit(signIn(asked));
      const token: DeviceToken = {
        access_token: asked.session.text,
        token_type: "Bearer",
        expires_in: USER_SESSION_MS / 1_000,
        user: toUser(asked.user),
      };
      return { status: 200, body: token };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/auth/device/status",
    name: "getDeviceStatus",
    summary: "See which device shows a code",
    description:
      "Shows the sign-in to the person who approves it. After ten wrong codes the answer is 429 `rate_limited` for 15 minutes.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    query: AnswerDevice,
    responses: { 200: { description: "The device.", schema: DeviceAuthorization } },
    refusals: [404],
    transaction: "required",
    handle: async ({ tx, server, scope, query }) =>
      deviceReply(await findDevice(tx, scope, query.user_code, server.clock())),
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/device/approve",
    name: "approveDevice",
    summary: "Approve a device",
    description:
      "Approves the sign-in: the device gets a session of the caller. A client that asks for a grant (`client`) gets one as `grant` says, and no session. A sign-in that was answered before is 409 `invalid_state`.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    body: ApproveDevice,
    responses: { 200: { description: "The device, approved.", schema: DeviceAuthorization } },
    refusals: [404],
    transaction: "required",
    audit: { action: "devices.approve", resource: "device" },
    handle: async ({ tx, server, scope, body, audit }) => {
      const chosen = body.grant === undefined ? null : fromChosen(body.grant);
      const context = { newUuid: server.newUuid, now: server.clock() };
      const { found, grant } = await approveDevice(tx, scope, body.user_code, chosen, context);
      if (found.kind === "found") audit(answered(found.device, grant));
      return deviceReply(found);
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/device/deny",
    name: "denyDevice",
    summary: "Deny a device",
    description:
      "Denies the sign-in: the device gets `access_denied`. A sign-in that was answered before is 409 `invalid_state`.",
    tag,
    access: { kind: "user" },
    signIn: "login",
    body: AnswerDevice,
    responses: { 200: { description: "The device, denied.", schema: DeviceAuthorization } },
    refusals: [404],
    transaction: "required",
    audit: { action: "devices.deny", resource: "device" },
    handle: async ({ tx, server, scope, body, audit }) => {
      const found = await answerDevice(tx, scope, body.user_code, { to: "denied" }, server.clock());
      if (found.kind === "found") audit(answered(found.device, null));
      return deviceReply(found);
    },
  }),
];
