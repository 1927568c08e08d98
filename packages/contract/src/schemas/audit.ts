import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { Digest, Id, JsonObject, Nullable, Timestamp } from "./primitives.ts";

/** Who did what to which resource, when, from where and by which credential. */

export const AUDIT_ACTORS = ["user", "api_key", "admin_key", "capacity_key", "run", "visitor"] as const;
export const AUDIT_CREDENTIALS = [
  "session",
  "api_key",
  "admin_key",
  "capacity_key",
  "run_token",
  "oauth_grant",
] as const;

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
  {
    $id: "AuditEvent",
    examples: [
      {
        id: EXAMPLE_IDS.aud,
        organization_id: EXAMPLE_IDS.org,
        sequence: 42,
        at: "2026-11-20T09:15:00.123Z",
        action: "api_keys.revoke",
        actor: { kind: "user", id: EXAMPLE_IDS.user },
        credential: { kind: "session", id: EXAMPLE_IDS.usess },
        resource: { kind: "api_key", id: EXAMPLE_IDS.key },
        project_id: EXAMPLE_IDS.proj,
        environment_id: EXAMPLE_IDS.env,
        address: "203.0.113.7",
        request_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11",
        details: {},
        previous_digest: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      },
    ],
  },
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
        { description: "The newest event. Store it elsewhere: it shows whether later events were removed." },
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
  {
    $id: "AuditVerification",
    examples: [
      {
        organization_id: EXAMPLE_IDS.org,
        valid: true,
        events: 42,
        head: {
          sequence: 42,
          digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        },
        fault: null,
      },
    ],
  },
);
export type AuditVerification = Static<typeof AuditVerification>;
