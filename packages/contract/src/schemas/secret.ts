import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import { SECRET_NAME_PATTERN, SECRET_STATUSES } from "../secrets.ts";
import { DurationText, Id, IdempotencyKey, Nullable, Timestamp } from "./primitives.ts";

const strict = { additionalProperties: false } as const;

export const SecretName = Type.String({
  pattern: SECRET_NAME_PATTERN,
  description: "Letters, digits and _, a digit not first; up to 128 characters.",
});

const SecretValue = Type.String({
  minLength: 1,
  description: `Up to ${LIMITS.secretValueBytes} bytes. It is never given back.`,
});

/** Names a value that tasks are given. The value itself is in no answer. */
export const Secret = Type.Object(
  {
    id: Id("sec"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    name: SecretName,
    status: Type.Enum([...SECRET_STATUSES]),
    version: Type.Integer({ description: "Counts up with every value." }),
    rotated_at: Nullable(Timestamp),
    revoked_at: Nullable(Timestamp),
    last_used_at: Nullable(
      Type.String({ format: "date-time", description: "To the minute: when a worker was last given it." }),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Secret" },
);
export type Secret = Static<typeof Secret>;

export const CreateSecret = Type.Object(
  {
    name: SecretName,
    value: SecretValue,
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { ...strict, $id: "CreateSecret" },
);
export type CreateSecret = Static<typeof CreateSecret>;

/** A new value for a secret. */
export const PutSecret = Type.Object({ value: SecretValue }, { ...strict, $id: "PutSecret" });
export type PutSecret = Static<typeof PutSecret>;
