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
 * @throws DomainError `unauthenticated`, `forbidden`
 */
export function checkCaller({ access, family }: Route, principal: Principal | null): Principal | null {
  if (access.kind === "public") return null;
  if (principal === null || !fits(access.kind, family, principal)) throw unauthenticated();
  if (
    access.kind === "environment" &&
    principal.kind === "api_key" &&
    !principal.permissions.has(access.permission)
  ) {
    throw forbidden(access.permission);
  }
  return principal;
}

function fits(
  kind: Exclude<Route["access"]["kind"], "public">,
  family: Route["family"],
  principal: Principal,
): boolean {
  switch (kind) {
    case "environment":
      return principal.kind === "api_key" || (principal.kind === "user" && family === "api");
    case "user":
      return principal.kind === "user";
    case "worker":
      return principal.kind === "worker";
    case "admin":
      return principal.kind === "admin" || (principal.kind === "user" && principal.isAdmin);
    case "capacity":
      return principal.kind === "capacity" || principal.kind === "admin";
  }
}
