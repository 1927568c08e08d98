import {
  ENVIRONMENT_PERMISSIONS,
  ORGANIZATION_PERMISSIONS,
  PUBLIC_PERMISSIONS,
  ROLES,
  type Permission,
} from "../../packages/contract/src/index.ts";
import { roleHolds } from "../../packages/server/src/core/credentials/principal.ts";
import { openApiPath } from "../../packages/server/src/http/openapi/operation.ts";
import { routes } from "../../packages/server/src/http/routes.ts";
import { code, page, table } from "./markdown.ts";

const CREDENTIALS = [
  ["credential", "begins with", "is good for", "lasts"],
  [
    "API key",
    "`kl_key_`",
    "`/v1` and `/api`, in one environment, with the permissions it was made with",
    "until it expires or is revoked",
  ],
  [
    "user's session",
    "`kl_usr_`, or a cookie",
    "`/api`, as the user's role allows; `/admin/api/v1` for administrators",
    "30 days after its last use, or until it is signed out",
  ],
  [
    "public access token",
    "`kl_pub_`",
    "what its scope says: one permission on one stream of one session, a conversation, or one run; from any origin",
    "15 minutes unless told otherwise, 24 hours at most",
  ],
  [
    "completion token's public token",
    "`kl_tkn_`",
    "completing that one token, from any origin or as a callback's URL",
    "as long as the token",
  ],
  ["worker's token", "`kl_wkr_`", "`/worker/v1` and `/api/worker`", "an hour; the agent renews it"],
  ["enrollment token", "`kl_enr_`", "a worker's first token", "until it expires or is revoked"],
  ["admin key", "`kl_adm_`", "`/admin/api/v1` and `/capacity/v1`", "until it is rotated"],
  ["capacity key", "`kl_cap_`", "`/capacity/v1`", "until it is rotated"],
];

/** The routes that ask for a permission, each path once: `/api` beside `/v1` is told by the rule above the table. */
function routesOf(permission: string): string {
  const asking = routes.filter(({ access }) => "permission" in access && access.permission === permission);
  const shown = asking.filter(
    ({ path, method, family }) =>
      family !== "api" ||
      !asking.some(
        (other) =>
          other.family === "v1" && other.method === method && other.path === path.replace("/api", "/v1"),
      ),
  );
  return shown
    .filter(({ path }) => !path.includes("/by-external-id"))
    .map(({ method, path }) => code(`${method} ${openApiPath(path)}`))
    .join("<br>");
}

const rolesOf = (permission: Permission): string =>
  ROLES.filter((role) => roleHolds(role, permission)).join(", ");

const permissionTable = (permissions: readonly Permission[]): string =>
  table([
    ["permission", "roles", "routes"],
    ...permissions.map((permission) => [code(permission), rolesOf(permission), routesOf(permission)]),
  ]);

export function permissionsPage(): string {
  return page(
    "Permissions and scopes",
    "A route asks for one permission, which its description in the [OpenAPI documents](../../openapi/) names as `x-permission`. A " +
      "credential without it gets 403 `forbidden` with `details.permission`; an object of another environment is 404 `not_found`, as one " +
      "that does not exist.",
    "## Credentials",
    table(CREDENTIALS),
    "## In an environment",
    "An API key is made with all of these or some (`permissions` of its creation). A user has those of their role in the " +
      "organization, and names the environment by `project_id` and `environment_id`. Routes of `/v1` that are also in `/api` stand here once, " +
      "and so do those that name a session by its external id.",
    permissionTable(ENVIRONMENT_PERMISSIONS),
    "## In an organization",
    "A person's alone; no API key has them. Only owners make and unmake owners.",
    permissionTable(ORGANIZATION_PERMISSIONS),
    "## Of public access tokens",
    "Each token has one of these, on one stream of one session, and may be bound to one correlation id. `session.files.read` and `session.files.write` are for all files of one session. `run.read` is for one run, and `session.chat` is all of the others, on the streams and files of a conversation.",
    table([
      ["permission", "routes"],
      ...PUBLIC_PERMISSIONS.map((permission) => [code(permission), routesOf(permission)]),
    ]),
  );
}
