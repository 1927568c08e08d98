import type { Permission } from "@keelson/contract";
import type { Principal } from "../core/credentials/principal.ts";
import { DomainError } from "../domain-error.ts";
import type { Route } from "./route.ts";

const unauthenticated = (): DomainError =>
  new DomainError(
    "unauthenticated",
    "Send a valid credential: Authorization: Bearer <credential>. This one is missing, unknown, expired or revoked.",
  );

export const forbidden = (permission: Permission): DomainError =>
  new DomainError("forbidden", `This credential lacks the permission ${permission}.`, { permission });

/**
 * What is known of a caller before the body is read: the credential is of a kind that the route takes, and an API key
 * has the permission. A user's permission depends on where they act.
 *
 * @param isBearer the caller sent a bearer credential: one that is not valid is refused even where none is needed
 * @throws DomainError `unauthenticated`, `forbidden`, `scope_mismatch`
 */
export function checkCaller(
  { access, family }: Route,
  principal: Principal | null,
  isBearer: boolean,
): Principal | null {
  if (access.kind === "public") return null;
  if (access.kind === "visitor" && principal === null && !isBearer) return null;
  if (principal === null || !fits(access.kind, family, principal)) throw unauthenticated();
  if (
    access.kind === "environment" &&
    principal.kind === "api_key" &&
    !principal.permissions.has(access.permission)
  ) {
    throw forbidden(access.permission);
  }
  if (
    access.kind === "public_access" &&
    principal.kind === "public_access" &&
    principal.permission !== access.permission
  )
    throw scopeMismatch(principal.permission);
  return principal;
}

const scopeMismatch = (permission: string): DomainError =>
  new DomainError("scope_mismatch", `This public access token is for ${permission} alone.`, { permission });

function fits(
  kind: Exclude<Route["access"]["kind"], "public">,
  family: Route["family"],
  principal: Principal,
): boolean {
  switch (kind) {
    case "environment":
      return principal.kind === "api_key" || (principal.kind === "user" && family === "api");
    case "caller":
      return principal.kind === "api_key" || principal.kind === "user";
    case "organization":
    case "project":
    case "user":
    case "visitor":
      return principal.kind === "user";
    case "worker":
      return principal.kind === "worker";
    case "public_access":
      return principal.kind === "public_access";
    case "completion_token":
      return principal.kind === "completion_token";
    case "admin":
      return principal.kind === "admin" || (principal.kind === "user" && principal.isAdmin);
    case "capacity":
      return principal.kind === "capacity" || principal.kind === "admin";
  }
}
