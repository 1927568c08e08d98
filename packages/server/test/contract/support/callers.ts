// Everyone whom the authorization matrix sends to every route.

import {
  PUBLIC_SESSION_PERMISSIONS,
  encodeId,
  ENVIRONMENT_PERMISSIONS,
  PERMISSIONS,
  type Permission,
  type Role,
} from "@keelson/contract";
import { routes } from "../../../src/http/routes.ts";
import type { ApiServer } from "../../support/api-server.ts";
import { connectClient } from "../../support/oauth.ts";
import {
  addApiKey,
  addServiceKey,
  addUser,
  addWorkerToken,
  firstOrganization,
  newCredential,
  place,
  type Place,
} from "../../support/tenancy.ts";
import type { Whose } from "../authorization-rows.ts";

/** What a kind of caller is to the places of the matrix. `at` is where it says it acts, on /api. */
export type Caller = {
  name: string;
  credential: string | null;
  is:
    | "nobody"
    | "api_key"
    | "run"
    | "user"
    | "oauth_grant"
    | "worker"
    | "completion_token"
    | "public_access"
    | "admin"
    | "capacity";
  permissions?: readonly string[];
  /** Its objects are those that the matrix calls foreign. */
  isForeign?: boolean;
  isAdmin?: boolean;
  at?: At | null;
  /** Its role in the first organization. */
  role?: Role;
  /** Shows its session by cookie, with what a page of ours sends along or without. */
  cookie?: "with token" | "without token";
  /** Called only on routes that need this permission. */
  only?: Permission;
};

type At = { organization_id: string; project_id: string; environment_id: string };

const READS = PERMISSIONS.filter(
  (permission) => permission.endsWith(".read") && permission !== "audit_events.read",
);
/** Written out, so that it is not the code under test that says what is right. */
export const HELD: Record<Role, readonly Permission[]> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS,
  developer: [
    ...ENVIRONMENT_PERMISSIONS,
    "projects.read",
    "environments.read",
    "api_keys.read",
    "members.read",
  ],
  viewer: READS,
};
/** Written out for the same reason: what a run has whose task says nothing. */
const RUN_HOLDS = ENVIRONMENT_PERMISSIONS.filter(
  (permission) =>
    !permission.startsWith("secrets.") &&
    !permission.startsWith("deployments.") &&
    permission !== "schedules.write",
);
const PAST = new Date(Date.now() - 60_000);

/** For each permission that a route needs: a key that lacks only it, and one that has only it. */
async function makePermissionKeys(server: ApiServer): Promise<Caller[]> {
  const used = new Set(
    routes.flatMap(({ access }) => (access.kind === "environment" ? [access.permission] : [])),
  );
  const perPermission = await Promise.all(
    [...used].map(async (permission) => {
      const others = PERMISSIONS.filter((other) => other !== permission);
      return [
        { ...key(`a key without ${permission}`, await addApiKey(server, others), others), only: permission },
        {
          ...key(`a key with only ${permission}`, await addApiKey(server, [permission]), [permission]),
          only: permission,
        },
      ];
    }),
  );
  return perPermission.flat();
}

const key = (
  name: string,
  credential: string,
  permissions: readonly string[] = ENVIRONMENT_PERMISSIONS,
): Caller => ({
  name,
  credential,
  is: "api_key",
  permissions,
});

const nobody = (name: string, credential: string | null): Caller => ({
  name,
  credential,
  is: "nobody",
  at: null,
});

/** The public tokens of completion tokens, and the public access tokens of sessions. */
export type Secrets = {
  publicTokens: { whose: Whose; credential: string }[];
  accessTokens: { whose: Whose; permission: string; credential: string }[];
};

/** Those who hold a secret for one thing alone. */
const secretHolders = ({ publicTokens, accessTokens }: Secrets): Caller[] => [
  ...publicTokens.map(({ whose, credential }): Caller => ({
    name: `the public token of the ${whose} token`,
    credential,
    is: "completion_token",
    isForeign: whose === "foreign",
    at: null,
  })),
  ...accessTokens.map(({ whose, permission, credential }): Caller => ({
    name: `the ${whose} public access token for ${permission}`,
    credential,
    is: "public_access",
    permissions: permission === "session.chat" ? PUBLIC_SESSION_PERMISSIONS : [permission],
    isForeign: whose === "foreign",
    at: null,
  })),
];

/** Tokens of leases: `own` and `foreign` without a declaration, `narrow` with `permissions`, `ended` of a run that is over. */
export type RunTokens = {
  own: string;
  foreign: string;
  narrow: { credential: string; permissions: readonly Permission[] };
  ended: string;
};

const runCallers = ({ own, foreign, narrow, ended }: RunTokens): Caller[] => [
  { name: "a run", credential: own, is: "run", permissions: RUN_HOLDS },
  {
    name: "a run of another environment",
    credential: foreign,
    is: "run",
    permissions: RUN_HOLDS,
    isForeign: true,
  },
  { name: "a run with few permissions", is: "run", ...narrow },
  nobody("a run that has ended", ended),
];

/** A client that a person has connected, by the token that is for calls, and by others. */
async function clientCallers(server: ApiServer): Promise<Caller[]> {
  const { access, refresh } = await connectClient(server);
  return [
    { name: "a connected client", credential: access, is: "oauth_grant", at: null },
    nobody("a refresh token", refresh),
    nobody("an unknown access token", newCredential("oat").text),
  ];
}

export type Cast = {
  server: ApiServer;
  /** The credentials of runs. */
  runs: RunTokens;
  /** The foreign place, and a key of it. */
  there: Place;
  foreignKey: string;
  worker: string;
  foreignWorker: string;
  secrets: Secrets;
};

/** Everyone who may come. */
export async function makeCallers({
  server,
  there,
  foreignKey,
  worker,
  foreignWorker,
  secrets,
  runs,
}: Cast): Promise<Caller[]> {
  const at: At = {
    ...place(server),
    organization_id: encodeId("org", await firstOrganization(server)),
  };
  const user = (name: string, credential: string, role: Role, extra: Partial<Caller> = {}): Caller => ({
    name,
    credential,
    is: "user",
    role,
    permissions: HELD[role],
    at,
    ...extra,
  });
  const { organization_id, project_id, environment_id } = there;
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
  return [
    nobody("nobody", null),
    nobody("garbage", "garbage"),
    nobody("a key with a wrong check digit", `${api_key.slice(0, -1)}${api_key.endsWith("A") ? "B" : "A"}`),
    nobody("an unknown key", newCredential("key").text),
    nobody("an expired key", await addApiKey(server, PERMISSIONS, { expiresAt: PAST })),
    nobody("a revoked key", await addApiKey(server, PERMISSIONS, { revokedAt: PAST })),
    nobody("an expired session", await addUser(server, "owner", { expiresAt: PAST })),
    nobody("an expired worker token", await addWorkerToken(server, worker, PAST)),
    nobody("an enrollment token", enrollment_token),
    key("a key", api_key),
    ...(await makePermissionKeys(server)),
    { ...key("a key of another environment", foreignKey), isForeign: true },
    user("the first owner", user_token, "owner", { isAdmin: true }),
    user("an owner", await addUser(server, "owner"), "owner"),
    user("an admin of the organization", await addUser(server, "admin"), "admin"),
    user("a developer", await addUser(server, "developer"), "developer"),
    user("a viewer", await addUser(server, "viewer"), "viewer"),
    user("an owner with a cookie", await addUser(server, "owner"), "owner", { cookie: "with token" }),
    user("a viewer with a cookie", await addUser(server, "viewer"), "viewer", { cookie: "with token" }),
    user("a cookie sent by another site", await addUser(server, "owner"), "owner", {
      cookie: "without token",
    }),
    user("an owner who does not say where", await addUser(server, "owner"), "owner", { at: null }),
    user("an owner in a foreign place", await addUser(server, "owner"), "owner", {
      at: { organization_id, project_id, environment_id },
      isForeign: true,
    }),
    {
      name: "a stranger",
      credential: await addUser(server, null),
      is: "user",
      permissions: [],
      at,
      isForeign: true,
    },
    { name: "a worker", credential: worker, is: "worker", at: null },
    { name: "a worker of another group", credential: foreignWorker, is: "worker", isForeign: true, at: null },
    ...[...secretHolders(secrets), ...runCallers(runs), ...(await clientCallers(server))],
    nobody("an unknown public token", newCredential("tkn").text),
    nobody("an unknown public access token", newCredential("pub").text),
    { name: "the admin key", credential: admin_key, is: "admin", at: null },
    { name: "the capacity key", credential: capacity_key, is: "capacity", at: null },
    nobody("an expired admin key", await addServiceKey(server, "admin", PAST)),
  ];
}
