import {
  AnsweredOauthAuthorization,
  AnswerOauthAuthorization,
  OauthAuthorization,
  OauthAuthorizationQuery,
} from "@keelson/contract";
import { approveAuthorization } from "../../../core/oauth/approve-authorization.ts";
import { checkAuthorization } from "../../../core/oauth/check-authorization.ts";
import { withAnswer } from "../../../core/oauth/oauth.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { resourceOf } from "./metadata.ts";
import { fromChosen, fromRequest, grantMade, toAuthorization } from "./wire.ts";

const tag = "Connected clients";

export const oauthAuthorizationRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "GET",
    path: "/oauth-authorization",
    name: "getOauthAuthorization",
    summary: "See which client asks",
    description:
      "Checks what a client sent the browser to `/oauth/authorize` with, and says who asks. A request that may not be answered is refused here, and nothing is sent to the client.",
    tag,
    access: { kind: "user" },
    query: OauthAuthorizationQuery,
    responses: { 200: { description: "The request.", schema: OauthAuthorization } },
    refusals: [404],
    handle: async ({ server, query }) => ({
      status: 200,
      body: toAuthorization(await checkAuthorization(server.db, fromRequest(query), resourceOf(server))),
    }),
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/oauth-authorization",
    name: "answerOauthAuthorization",
    summary: "Connect a client, or refuse",
    description:
      "Approves the request for one environment, or denies it with `grant` null. The client may do what the caller may do in the environment at the time, and with the access `read` only look. " +
      "`redirect_to` has the answer for the client: a code that is good once within a minute, or `access_denied`.",
    tag,
    access: { kind: "user" },
    body: AnswerOauthAuthorization,
    responses: { 200: { description: "Where to go on.", schema: AnsweredOauthAuthorization } },
    refusals: [404],
    transaction: "required",
    audit: { action: "oauth_grants.create", resource: "oauth_grant" },
    handle: async ({ tx, server, scope, body, audit }) => {
      const checked = await checkAuthorization(tx, fromRequest(body), resourceOf(server));
      const { state, grant: chosen } = body;
      const iss = server.publicUrl();
      const answer = (fields: Record<string, string>) => {
        const redirect_to = withAnswer(checked.redirectUri, { ...fields, state, iss });
        return { status: 200, body: { redirect_to } };
      };
      if (chosen === null) {
        audit(null);
        return answer({ error: "access_denied", error_description: "The person has denied the request." });
      }
      const { newUuid, makeCredential, clock } = server;
      const context = { newUuid, makeCredential, now: clock() };
      const { code, grant } = await approveAuthorization(tx, scope, checked, fromChosen(chosen), context);
      audit(grantMade(grant, checked.client, checked.redirectUri));
      return answer({ code });
    },
  }),
];
