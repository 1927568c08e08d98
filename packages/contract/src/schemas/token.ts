import { Type, type Static } from "typebox";
import { TOKEN_COMPLETER_KINDS, TOKEN_STATUSES } from "../sessions.ts";
import {
  AllTags,
  anyOf,
  DurationText,
  filterById,
  Id,
  IdempotencyKey,
  JsonObject,
  JsonValue,
  Nullable,
  pageQuery,
  Tags,
  Timestamp,
} from "./primitives.ts";

const tokenFields = {
  id: Id("tok"),
  project_id: Id("proj"),
  environment_id: Id("env"),
  status: Type.Enum([...TOKEN_STATUSES]),
  data: JsonValue,
  timeout_at: Timestamp,
  metadata: JsonObject,
  tags: Tags,
  run_id: Nullable(Id("run")),
  completed_at: Nullable(Timestamp),
  completed_by: Nullable(
    Type.Object({ kind: Type.Enum([...TOKEN_COMPLETER_KINDS]), id: Nullable(Type.String()) }),
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** Something that happens once, elsewhere: a person's decision, a provider's answer. Completed once, forever. */
export const Token = Type.Object(tokenFields, { $id: "Token" });
export type Token = Static<typeof Token>;

/** The only answer that has the token's secrets. */
export const CreatedToken = Type.Object(
  {
    ...tokenFields,
    public_access_token: Type.String({ description: "Completes this token from a browser." }),
    callback_url: Type.String({ description: "Completes this token by a provider's POST." }),
  },
  { $id: "CreatedToken" },
);
export type CreatedToken = Static<typeof CreatedToken>;

export const tokenInputFields = {
  timeout: Type.Optional(
    Type.String({ ...DurationText, description: "Until it expires: 24h, at most 30d." }),
  ),
  metadata: Type.Optional(JsonObject),
  tags: Type.Optional(Tags),
};

export const CreateToken = Type.Object(
  {
    ...tokenInputFields,
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { additionalProperties: false, $id: "CreateToken" },
);
export type CreateToken = Static<typeof CreateToken>;

export const ListTokens = Type.Object(
  {
    ...pageQuery(),
    status: anyOf(TOKEN_STATUSES),
    run_id: filterById("Created by this run."),
    tag: AllTags,
    order: Type.Optional(Type.Enum(["newest", "oldest"], { description: "Default `newest`." })),
  },
  { additionalProperties: false },
);
export type ListTokens = Static<typeof ListTokens>;

export const CompleteToken = Type.Object(
  { data: Type.Optional(JsonValue) },
  { additionalProperties: false, $id: "CompleteToken" },
);
export type CompleteToken = Static<typeof CompleteToken>;

export const TokenCompletion = Type.Object(
  { status: Type.Enum(["completed", "already_completed"]), token: Token },
  { $id: "TokenCompletion" },
);
export type TokenCompletion = Static<typeof TokenCompletion>;
