import { CREDENTIAL_KINDS, parseCredential, type CredentialKind } from "@keelson/contract";
import type { Principal } from "../../core/credentials/principal.ts";
import { DomainError } from "../../domain-error.ts";
import type { Route } from "./route.ts";

type AccessKind = Exclude<Route["access"]["kind"], "public">;

const NAMES: Record<Principal["kind"], string> = {
  api_key: "an API key",
  run: "the token of a run",
  user: "the session of a user",
  worker: "the token of a worker",
  public_access: "a public access token",
  completion_token: "a completion token",
  admin: "an admin key",
  capacity: "a capacity key",
  oauth_grant: "the token of an MCP client",
};

/** Of credentials that stand for nobody in a header: they are exchanged for another one. */
const EXCHANGED: Partial<Record<CredentialKind, string>> = {
  [CREDENTIAL_KINDS.enrollment]: "an enrollment token, which a worker exchanges for its own",
  [CREDENTIAL_KINDS.invitation]: "an invitation",
  [CREDENTIAL_KINDS.magicLink]: "a sign-in link",
  [CREDENTIAL_KINDS.device]: "the code of a device",
  [CREDENTIAL_KINDS.authorizationCode]: "an authorization code",
  [CREDENTIAL_KINDS.refreshToken]: "a refresh token",
};

const TAKEN: Record<AccessKind, string> = {
  environment: NAMES.api_key,
  caller: `${NAMES.api_key} or ${NAMES.user}`,
  organization: NAMES.user,
  project: NAMES.user,
  user: NAMES.user,
  visitor: NAMES.user,
  worker: NAMES.worker,
  public_access: NAMES.public_access,
  public_run_access: NAMES.public_access,
  completion_token: NAMES.completion_token,
  admin: `${NAMES.admin} or the session of an administrator`,
  capacity: NAMES.capacity,
};

/** The refusal of a credential that the route does not take; null for text that may have been meant for it. */
export function wrongCredential(
  kind: AccessKind,
  { family }: Route,
  principal: Principal | null,
  text: string | null,
): DomainError | null {
  const credential = text === null ? null : parseCredential(text);
  const shown =
    principal === null ? (credential === null ? undefined : EXCHANGED[credential]) : NAMES[principal.kind];
  if (shown === undefined) return null;
  const taken = kind === "environment" && family === "api" ? TAKEN.caller : TAKEN[kind];
  return new DomainError("unauthenticated", `This route takes ${taken}. The credential is ${shown}.`);
}
