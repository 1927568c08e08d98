import { encodeId, type AuditEvent, type Uuid } from "@keelson/contract";
import type { FastifyRequest } from "fastify";
import { appendAuditEvent } from "../../core/audit/append-audit-event.ts";
import type { AuditFacts } from "../../core/audit/audit.ts";
import type { Principal } from "../../core/credentials/principal.ts";
import type { Tx } from "../../db/queryable.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Route, Scope } from "./route.ts";

/** What a route that changes something leaves in the audit log, or why it leaves nothing there. */
export type AuditDeclaration =
  | {
      /** `<plural>.<verb>`. */
      action: string;
      /** What it is done to, by the noun of its type. */
      resource: string;
      /**
       * Only what a person does leaves an event: an environment's work has histories of its own, and keys and code, which do
       * it by the thousand, would queue for the chain.
       */
      by?: "people";
      /** The operation has a transaction of its own, and writes the event in it. */
      written?: "in the operation";
    }
  | { none: string };

/** What an event says besides what the route and the caller say. Neither secrets nor credentials. */
export type AuditTarget = {
  /** The resource, as the wire names it. */
  id: string | null;
  /** Where, when it is not where the caller acts. */
  organizationId?: Uuid<"org">;
  environmentId?: Uuid<"env">;
  details?: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  /** Who, where the request itself shows it: a sign-in. */
  userId?: Uuid<"user">;
};

/** Writes the event of a route as the last thing of its transaction. */
export type WriteAudit = (tx: Tx, target: AuditTarget) => Promise<void>;

/** Why single routes leave no events. */
export const UNAUDITED = {
  asking: { none: "Begins a sign-in of nobody yet; the sign-in that comes of it is audited." },
  bytes: { none: "Stores bytes under their digest; the deployment that names them is audited." },
  enrollment: {
    none: "A machine enrolls or renews; that it may is an enrollment token, which is audited.",
  },
  callback: { none: "A provider answers for the work of an environment; the token says so." },
  visitors: {
    none: "Made for each visitor of a page, so many at once that they would queue for the chain; narrow and short-lived.",
  },
} as const satisfies Record<string, AuditDeclaration>;

/** What an environment's work is done by, as permissions begin. */
const WORK = /^(tasks|actors|sessions|runs|tokens|workspaces)\./;
const WORK_REASON =
  "Work of an environment, not its administration: the run, session, token or workspace has a history of its own, and callers would queue for the chain.";

/** Why whole kinds of routes leave no events; null for routes that have to say themselves what they leave. */
export function unauditedKind({
  method,
  access,
  audit,
}: Pick<Route, "method" | "access" | "audit">): string | null {
  if (method === "GET" || method === "HEAD") return "Changes nothing.";
  switch (access.kind) {
    case "worker":
      return "Machines report here; people change workers by /admin and /capacity.";
    case "completion_token":
    case "public_access":
    case "public_run_access":
      return WORK_REASON;
    case "environment":
      // What a person decides is to be found where all that people decide is: such a route says that it leaves an event.
      return WORK.test(access.permission) && audit === undefined ? WORK_REASON : null;
    default:
      return null;
  }
}

/** Writes the event of one request. */
export const createAuditWriter =
  (
    { newUuid, clock }: ServerContext,
    { action, resource }: Extract<AuditDeclaration, { action: string }>,
    scope: Scope,
    { principal, ip, keelsonRequestId }: FastifyRequest,
  ): WriteAudit =>
  async (tx, of) => {
    const facts: AuditFacts = {
      action,
      resource: { kind: resource, id: of.id },
      ...callerOf(principal, of),
      ...placeOf(scope, of),
      address: ip,
      request_id: keelsonRequestId,
      details: { ...of.details, ...clientOf(principal) },
    };
    await appendAuditEvent(tx, facts, { newUuid, now: clock() });
  };

function placeOf(
  scope: Scope,
  of: AuditTarget,
): Pick<AuditFacts, "organizationId" | "project_id" | "environment_id"> {
  const place = scope !== null && "organizationId" in scope ? scope : null;
  const projectId = place !== null && "projectId" in place ? place.projectId : null;
  const environmentId =
    of.environmentId ?? (place !== null && "environmentId" in place ? place.environmentId : null);
  return {
    organizationId: of.organizationId ?? place?.organizationId ?? null,
    project_id: projectId === null ? null : encodeId("proj", projectId),
    environment_id: environmentId === null ? null : encodeId("env", environmentId),
  };
}

function callerOf(
  principal: Principal | null,
  { userId }: AuditTarget,
): Pick<AuditEvent, "actor" | "credential"> {
  if (principal === null) {
    const actor: AuditEvent["actor"] =
      userId === undefined ? { kind: "visitor", id: null } : { kind: "user", id: encodeId("user", userId) };
    return { actor, credential: null };
  }
  switch (principal.kind) {
    case "user":
      return {
        actor: { kind: "user", id: encodeId("user", principal.id) },
        credential: { kind: "session", id: encodeId("usess", principal.sessionId) },
      };
    case "oauth_grant":
      return {
        actor: { kind: "user", id: encodeId("user", principal.userId) },
        credential: { kind: "oauth_grant", id: encodeId("ogr", principal.id) },
      };
    case "api_key":
      return keyOf("api_key", encodeId("key", principal.id));
    case "run": {
      const id = encodeId("run", principal.id);
      return { actor: { kind: "run", id }, credential: { kind: "run_token", id } };
    }
    case "admin":
      return keyOf("admin_key", encodeId("skey", principal.id));
    case "capacity":
      return keyOf("capacity_key", encodeId("skey", principal.id));
    case "worker":
    case "completion_token":
    case "public_access":
      throw new Error(`A ${principal.kind} does nothing that is audited.`);
  }
}

/** The client that acts for a person: its id, and what it calls itself. */
const clientOf = (principal: Principal | null): AuditTarget["details"] =>
  principal?.kind === "oauth_grant"
    ? { oauth_client: encodeId("ocl", principal.clientId), oauth_client_name: principal.clientName }
    : {};

/** A key acts for itself: nobody else is known. */
const keyOf = (
  kind: "api_key" | "admin_key" | "capacity_key",
  id: string,
): Pick<AuditEvent, "actor" | "credential"> => ({ actor: { kind, id }, credential: { kind, id } });
