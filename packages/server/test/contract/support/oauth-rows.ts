// Routes by which clients sign in, and by which people look after the clients that they connected.

import { encodeId } from "@keelson/contract";
import type { Row } from "../authorization-rows.ts";

const ABSENT_CLIENT = encodeId("ocl", "00000000-0000-7000-8000-000000000000");
export const oauth: Record<string, Row> = {
  getProtectedResource: {},
  getMcpResource: {},
  getAuthorizationServer: {},
  registerOauthClient: { body: () => ({ redirect_uris: ["https://app.example.com/back"] }), own: [201] },
  askOauthToken: { body: () => ({ grant_type: "refresh_token", client_id: ABSENT_CLIENT }), own: [401] },
  revokeOauthToken: { body: () => ({ token: "kl_ort_unknown" }), own: [200] },
  startOauthDevice: { body: () => ({ client_id: ABSENT_CLIENT }), own: [401] },
  // What is a person's own is in the tests of these routes.
  getOauthAuthorization: {
    query: () => ({ client_id: ABSENT_CLIENT, redirect_uri: "https://app.example.com/back" }),
    own: [404],
  },
  answerOauthAuthorization: {
    body: () => ({ client_id: ABSENT_CLIENT, redirect_uri: "https://app.example.com/back", grant: null }),
    own: [404],
  },
  listOauthGrants: {},
  revokeOauthGrant: { parameter: encodeId("ogr", "00000000-0000-7000-8000-000000000000"), own: [404] },
};
