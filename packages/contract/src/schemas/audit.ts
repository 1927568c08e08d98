import { Type, type Static } from "typebox";
import { Digest, Id, JsonObject, Nullable, Timestamp } from "./primitives.ts";

/** Who did what to which resource, when, from where and by which credential. */

export const AUDIT_ACTORS = ["user", "api_key", "admin_key", "capacity_key", "visitor"] as const;
export const AUDIT_CREDENTIALS = ["session", "api_key", "admin_key", "capacity_key"] as const;

export const AuditEvent = Type.Object(
  {
    id: Id("aud"),
    organization_id: Nullable(
      Type.String({ description: "Whose chain the event is in; null: the installation's own." }),
    ),
    sequence: Type.Integer({ minimum: 1, description: "Its place in the chain, without gaps, from 1." }),
    at: Timestamp,
    action: Type.String({ description: "`<plural>.<verb>`, such as `api_keys.revoke`." }),
    actor: Type.Object({
      kind: Type.Enum([...AUDIT_ACTORS]),
      id: Nullable(Type.String()),
    }),
    credential: Nullable(Type.Object({ kind: Type.Enum([...AUDIT_CREDENTIALS]), id: Type.String() })),
    resource: Type.Object({ kind: Type.String(), id: Nullable(Type.String()) }),
    project_id: Nullable(Id("proj")),
    environment_id: Nullable(Id("env")),
    address: Nullable(Type.String({ description: "Where the request came from, as the server saw it." })),
    request_id: Type.String(),
    details: JsonObject,
    previous_digest: Type.String({
      ...Digest,
      description: "The digest of the event before; 64 zeros for the first.",
    }),
    digest: Type.String({
      ...Digest,
      description: "SHA-256 of the event without this field, as RFC 8785 writes it.",
    }),
  },
  { $id: "AuditEvent" },
);
export type AuditEvent = Static<typeof AuditEvent>;

export const AUDIT_FAULTS = ["missing", "changed", "unlinked", "misfiled", "head"] as const;
export type AuditFault = (typeof AUDIT_FAULTS)[number];

export const AuditVerification = Type.Object(
  {
    organization_id: Nullable(Id("org")),
    valid: Type.Boolean(),
    events: Type.Integer({ description: "Events that were found to be as they were written, in order." }),
    head: Nullable(
      Type.Object(
        { sequence: Type.Integer(), digest: Digest },
        { description: "The newest of them. Keep it elsewhere: it tells whether the end was cut off later." },
      ),
    ),
    fault: Nullable(
      Type.Object({
        sequence: Type.Integer({ description: "The first place that is not as it should be." }),
        kind: Type.Enum([...AUDIT_FAULTS]),
        message: Type.String(),
      }),
    ),
  },
  { $id: "AuditVerification" },
);
export type AuditVerification = Static<typeof AuditVerification>;
