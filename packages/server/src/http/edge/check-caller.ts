import { coversPermission, CREDENTIAL_KINDS, type Permission } from "@keelson/contract";
import type { Principal } from "../../core/credentials/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { ShownCredential } from "./authenticate/find-credential.ts";
import type { Route } from "./route.ts";
import { wrongCredential } from "./wrong-credential.ts";

const unauthenticated = (credential: string | null): DomainError =>
  new DomainError(
    "unauthenticated",
    credential?.startsWith(RUN_TOKEN) === true
      ? "This run's token is no longer valid, because its worker no longer holds the run. Code that continues after a run needs an API key."
      : "Send a valid credential: Authorization: Bearer <credential>. This one is missing, unknown, expired or revoked.",
  );

const RUN_TOKEN = `kl_${CREDENTIAL_KINDS.run}_`;

export const forbidden = (permission: Permission): DomainError =>
  new DomainError("forbidden", `This credential lacks the permission ${permission}.`, { permission });

/**
 * What is known of a caller before the body is read: the credential is of a kind that the route takes, and an API key
 * or a run has the permission. A user's permission depends on where they act.
 *
 * @param credential what the caller showed: a bearer credential that is not valid is refused even where none is needed
 * @throws DomainError `unauthenticated`, `forbidden`, `scope_mismatch`
 */
export function checkCaller(
  route: Route,
  principal: Principal | null,
  credential: ShownCredential | null,
): Principal | null {
  const { access } = route;
  if (access.kind === "public") return null;
  if (access.kind === "visitor" && principal === null && credential?.isCookie !== false) return null;
  if (principal === null || !fits(access.kind, route, principal, credential)) {
    const text = credential?.text ?? null;
    throw wrongCredential(access.kind, route, principal, text) ?? unauthenticated(text);
  }
  if (
    access.kind === "environment" &&
    "permissions" in principal &&
    !principal.permissions.has(access.permission)
  ) {
    throw forbidden(access.permission);
  }
  if (
    (access.kind === "public_access" || access.kind === "public_run_access") &&
    principal.kind === "public_access" &&
    !coversPermission(principal.permission, access.permission)
  )
    throw scopeMismatch(principal.permission);
  return principal;
}

const scopeMismatch = (permission: string): DomainError =>
  new DomainError("scope_mismatch", `This public access token is for ${permission} alone.`, { permission });

const isOfEnvironment = ({ kind }: Principal): boolean => kind === "api_key" || kind === "run";

function fits(
  kind: Exclude<Route["access"]["kind"], "public">,
  { family, connects }: Route,
  principal: Principal,
  credential: ShownCredential | null,
): boolean {
  switch (kind) {
    case "environment":
      // A token of OAuth is for one route, and for what that route calls.
      if (principal.kind === "oauth_grant") return connects === true || credential?.isInner === true;
      return isOfEnvironment(principal) || (principal.kind === "user" && family === "api");
    case "caller":
      return isOfEnvironment(principal) || principal.kind === "user";
    case "organization":
    case "project":
    case "user":
    case "visitor":
      return principal.kind === "user";
    case "worker":
      return principal.kind === "worker";
    case "public_access":
    case "public_run_access":
      return principal.kind === "public_access";
    case "completion_token":
      return principal.kind === "completion_token";
    case "admin":
      return principal.kind === "admin" || (principal.kind === "user" && principal.isAdmin);
    case "capacity":
      return principal.kind === "capacity" || principal.kind === "admin";
  }
}
