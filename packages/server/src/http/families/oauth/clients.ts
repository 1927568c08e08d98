import { RegisteredOauthClient, RegisterOauthClient } from "@keelson/contract";
import { registerClient } from "../../../core/oauth/register-client.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { refusalReply } from "./reply.ts";
import { toRegistered } from "./wire.ts";

export const oauthClientRoutes: RouteDefinition[] = [
  route({
    in: ["oauth"],
    method: "POST",
    path: "/oauth/register",
    name: "registerOauthClient",
    summary: "Register a client",
    description:
      "Registers a public client (RFC 7591), and ignores fields that it does not know. The server drops a registration that no person has approved after a day.",
    tag: "OAuth",
    access: { kind: "public" },
    signIn: "login",
    oauth: "invalid_client_metadata",
    cors: "any-origin",
    body: RegisterOauthClient,
    responses: { 201: { description: "The client.", schema: RegisteredOauthClient } },
    transaction: "required",
    audit: UNAUDITED.asking,
    handle: async ({ tx, server: { newUuid, clock }, body }) => {
      const now = clock();
      const { client_name: name, redirect_uris: redirectUris = [] } = body;
      const made = await registerClient(tx, { name, redirectUris }, { newUuid, now });
      return made.kind === "refuse"
        ? refusalReply(made)
        : { status: 201, body: toRegistered(made.client, now) };
    },
  }),
];
