import { decodeId, StartedDevice, StartOauthDevice } from "@keelson/contract";
import { findOauthClient } from "../../../core/oauth/client-reads.ts";
import { askedAccess, isResource } from "../../../core/oauth/oauth.ts";
import { startDevice } from "../../../core/logins/start-device.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toStartedDevice } from "../sign-in/wire.ts";
import { resourceOf } from "./metadata.ts";
import { refused, unknownClient } from "./reply.ts";

export const oauthDeviceRoutes: RouteDefinition[] = [
  route({
    in: ["oauth"],
    method: "POST",
    path: "/oauth/device_authorization",
    name: "startOauthDevice",
    summary: "Begin the sign-in of a client without a browser",
    description:
      "As RFC 8628: the client shows the `user_code` and the `verification_uri`, then asks `/oauth/token` every `interval` seconds.",
    tag: "OAuth",
    access: { kind: "public" },
    signIn: "login",
    oauth: "invalid_request",
    cors: "any-origin",
    body: StartOauthDevice,
    responses: { 200: { description: "The codes.", schema: StartedDevice } },
    refusals: [401],
    transaction: "required",
    audit: UNAUDITED.asking,
    handle: async ({ tx, server, body }) => {
      const id = decodeId("ocl", body.client_id);
      const client = id === null ? null : await findOauthClient(tx, id);
      if (client === null) return unknownClient();
      if (!isResource(body.resource, resourceOf(server)))
        return refused("invalid_target", `There are tokens for ${resourceOf(server)} alone.`);
      const access = askedAccess(body.scope);
      if (access === null) return refused("invalid_scope", "The scope names nothing that this server has.");
      const { makeCredential, randomBytes } = server;
      const asking = { clientId: client.name, oauth: { clientId: client.id, access } };
      const started = await startDevice(tx, asking, { makeCredential, randomBytes, now: server.clock() });
      return { status: 200, body: toStartedDevice(started, server.publicUrl()) };
    },
  }),
];
