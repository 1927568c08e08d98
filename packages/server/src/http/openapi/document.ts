import { API_VERSION, ErrorBody, HEADERS, LIMITS } from "@keelson/contract";
import type { Family, Route } from "../edge/route.ts";
import { createComponents, type JsonSchema } from "./components.ts";
import { openApiPath, tagName, toOperation } from "./operation.ts";
import { errorResponses } from "./refusals.ts";

const TITLES: Record<Family, string> = {
  api: "Keelson API for consoles, sessions and workers",
  "api-public": "Keelson browser and callback API",
  v1: "Keelson Developer API",
  admin: "Keelson admin API",
  capacity: "Keelson capacity API",
  worker: "Keelson worker protocol",
  system: "Keelson server",
};

/** What the routes of a family are for, above their paths in the page that shows all of them. */
const GROUPS: Record<Family, string> = {
  v1: "/v1: programs, with an API key",
  api: "/api: people and the console, signed in",
  "api-public": "/api/v1 and callbacks: browsers and providers, with one token",
  admin: "/admin/api/v1: administrators",
  capacity: "/capacity/v1: scalers of workers",
  worker: "/worker/v1: workers",
  system: "The server itself",
};

const DESCRIPTION = `JSON over HTTP with snake_case fields. Errors have one shape everywhere; \`error.message\` says what to do next.
Lists are pages by key: pass \`next_cursor\` as \`cursor\`, with the same filters. Creates and starts take an idempotency key, and repeating one gives the first answer.
Unknown fields and query parameters are refused. A path that is asked by a method it does not have answers 405 \`method_not_allowed\` with \`Allow\`. Event streams are resumed with \`Last-Event-ID\` or \`cursor\`.`;

const bearer = (description: string): JsonSchema => ({ type: "http", scheme: "bearer", description });

const SECURITY_SCHEMES = {
  apiKey: bearer("An API key, `kl_key_…`, bound to one environment."),
  userSession: bearer(
    "A user's session, `kl_usr_…`. On routes of an environment the user names it by `project_id` and `environment_id`.",
  ),
  sessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: "keelson_session",
    description:
      "The same session in a browser (`__Host-keelson_session` on https). Unsafe requests also need an Origin of the server and the header X-CSRF-Token with the csrf_token of `GET /api/me`.",
  },
  accessToken: bearer(
    "An access token, `kl_oat_…`, of a client that a person has connected (`POST /oauth/token`), for one environment.",
  ),
  workerToken: bearer("A worker's token, `kl_wkr_…`, of `POST auth/token`."),
  completionToken: bearer(
    "The `public_access_token`, `kl_tkn_…`, of one completion token. It completes that token and nothing else.",
  ),
  publicAccessToken: bearer(
    "A public access token, `kl_pub_…`: what a browser may do with one session or one run, for a time and a number of uses.",
  ),
  adminKey: bearer("An admin key, `kl_adm_…`."),
  capacityKey: bearer("A capacity key, `kl_cap_…`."),
};

const PARAMETERS = {
  ServiceApiVersion: {
    name: "Service-API-Version",
    in: "header",
    required: false,
    description:
      "The contract that the caller was written for. Absent means the current one; another is refused.",
    schema: { type: "string", const: API_VERSION },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "The same as `idempotency_key` in the body. If both are sent, they must be equal.",
    schema: { type: "string", minLength: 1, maxLength: LIMITS.idempotencyKeyBytes },
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "The id of the last event received; wins over `cursor`.",
    schema: { type: "string" },
  },
};

const RESPONSE_HEADERS = {
  RequestId: {
    description: "The caller's id, or a new one; it finds the request in the server's log.",
    schema: { type: "string" },
  },
  ServiceApiVersion: {
    description: "The contract that was applied.",
    schema: { type: "string", const: API_VERSION },
  },
  IdempotencyReplayed: {
    description: `Present as \`true\` when this is the first answer to an earlier request with the same key (${HEADERS.idempotencyKey}).`,
    schema: { type: "string", const: "true" },
  },
};

export type DocumentOptions = { families?: readonly Family[] };

/** The OpenAPI 3.1 document of the routes, of all families or of some. The same routes give the same text. */
export function openApiDocument(routes: readonly Route[], { families }: DocumentOptions = {}): JsonSchema {
  const chosen = families === undefined ? routes : routes.filter(({ family }) => families.includes(family));
  const components = createComponents();
  components.refer(ErrorBody);
  const paths: Record<string, JsonSchema> = {};
  for (const route of chosen) {
    const path = openApiPath(route.path);
    const operation = toOperation(route, components);
    // Runs of /v1 and runs of /api are two things for whoever looks for one of them.
    if (families === undefined) operation["tags"] = [tagOf(route)];
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  const [only] = families?.length === 1 ? families : [];
  return {
    openapi: "3.1.0",
    info: {
      title: only === undefined ? "Keelson" : TITLES[only],
      version: API_VERSION,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    ...(families === undefined && tagsByFamily(chosen)),
    paths,
    components: {
      schemas: components.schemas(),
      responses: errorResponses(),
      parameters: PARAMETERS,
      headers: RESPONSE_HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** The families that have routes, in the order of their first one. */
export const familiesOf = (routes: readonly Route[]): Family[] => [
  ...new Set(routes.map(({ family }) => family)),
];

const tagOf = (route: Route): string => `${route.family}: ${tagName(route)}`;

/** Tags with the family that each is of; `x-tagGroups` is what pages that show documents make chapters of. */
function tagsByFamily(routes: readonly Route[]): JsonSchema {
  const tags = new Map(routes.map((route) => [tagOf(route), tagName(route)]));
  return {
    tags: [...tags].map(([name, displayName]) => ({ name, "x-displayName": displayName })),
    "x-tagGroups": familiesOf(routes).map((family) => ({
      name: GROUPS[family],
      tags: [...new Set(routes.filter((route) => route.family === family).map(tagOf))],
    })),
  };
}
