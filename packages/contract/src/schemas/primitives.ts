import { Type, type Static, type TSchema } from "typebox";
import {
  DECLARED_ID_PATTERN,
  EMAIL_PATTERN,
  LIMITS,
  PRINTABLE_PATTERN,
  QUEUE_NAME_PATTERN,
  SLUG_PATTERN,
} from "../limits.ts";
import { DURATION_PATTERN, WAIT_PATTERN } from "../durations.ts";
import { EXAMPLE_IDS } from "../example-ids.ts";
import type { IdPrefix } from "../ids.ts";

/**
 * Building blocks that every resource schema is made of. `examples` are what the OpenAPI documents show; a schema with an
 * `$id` may have one of the whole.
 */

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const Id = (prefix: IdPrefix) =>
  Type.String({
    pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
    description: `A TypeID with prefix \`${prefix}\`.`,
    examples: [EXAMPLE_IDS[prefix]],
  });

export const Timestamp = Type.String({
  format: "date-time",
  description: "RFC 3339, UTC, milliseconds.",
  examples: ["2026-11-20T09:15:00.123Z"],
});

export const DurationText = Type.String({
  pattern: DURATION_PATTERN,
  description: "`<integer><unit>`, unit ms, s, m, h or d.",
  examples: ["30s"],
});

/** How long a read waits; see `parseWait`. */
export const WaitText = Type.String({
  pattern: WAIT_PATTERN,
  description: "How long to wait for a record: a duration up to 60s, `0` for not at all. Default 25s.",
  examples: ["25s"],
});

export const DeclaredId = Type.String({ pattern: DECLARED_ID_PATTERN, examples: ["send-report"] });
export const QueueName = Type.String({ pattern: QUEUE_NAME_PATTERN, examples: ["reports"] });
export const ConcurrencyKey = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: PRINTABLE_PATTERN,
  examples: ["customer-4711"],
});
export const Digest = Type.String({
  pattern: "^[0-9a-f]{64}$",
  description: "SHA-256, lower-case hexadecimal.",
  examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
});
export const JsonValue = Type.Unknown({ description: "Any JSON value.", examples: [{ week: 47 }] });
export const JsonObject = Type.Record(Type.String(), Type.Unknown(), {
  description: "A JSON object.",
  examples: [{}],
});
export const Cursor = Type.String({
  minLength: 1,
  maxLength: 512,
  description: "Opaque; from `next_cursor`.",
  examples: ["eyJhIjoxfQ"],
});
/** Of any text, because one that was not issued is refused as `invalid_cursor` and not for its shape. */
export const SequenceCursor = Type.String({
  description: "A decimal sequence number; 0 or absent starts at the beginning.",
  examples: ["12"],
});

/** Query parameters of a page of what is numbered. */
export const SequencePage = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
};

export const Tags = Type.Array(
  Type.String({ minLength: 1, maxLength: LIMITS.tagCharacters, pattern: PRINTABLE_PATTERN }),
  {
    maxItems: LIMITS.tags,
    uniqueItems: true,
    examples: [["weekly"]],
  },
);

export const IdempotencyKey = Type.String({
  minLength: 1,
  maxLength: LIMITS.idempotencyKeyBytes,
  pattern: PRINTABLE_PATTERN,
  examples: ["report-2026-47"],
});

/** What a person calls something. */
export const DisplayName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: PRINTABLE_PATTERN,
  examples: ["Reports"],
});

/** The name of something in URLs and commands. */
export const Slug = Type.String({
  pattern: SLUG_PATTERN,
  description: "1 to 64 lower-case letters, digits and inner hyphens.",
  examples: ["reports"],
});

export const EmailAddress = Type.String({
  maxLength: 254,
  pattern: EMAIL_PATTERN,
  description: "a mail address in ASCII",
  examples: ["ada@example.com"],
});

/** A list response: the rows under the resource's plural name and the cursor of the next page. */
export const Page = <T extends TSchema, K extends string>(plural: K, item: T) =>
  Type.Object({
    [plural]: Type.Array(item),
    next_cursor: Nullable(Type.String()),
  } as { [P in K]: ReturnType<typeof Type.Array<T>> } & {
    next_cursor: ReturnType<typeof Nullable<ReturnType<typeof Type.String>>>;
  });

/** Filters of lists: any of the values, or all of the tags. */
export const anyOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Optional(
    Type.Array(Type.Unsafe<Values[number]>(Type.Enum([...values])), {
      maxItems: values.length,
      description: "Repeatable.",
    }),
  );
export const AllTags = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.tagCharacters }), {
    maxItems: LIMITS.tags,
    description: "Repeatable; all must be there.",
  }),
);
export const filterById = (description?: string) =>
  Type.Optional(Type.String({ maxLength: 64, ...(description === undefined ? {} : { description }) }));

/** Query parameters of every list. */
export const pageQuery = (options: { default?: number; maximum?: number } = {}) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: options.maximum ?? LIMITS.pageMax,
      description: `Default ${options.default ?? LIMITS.pageDefault}.`,
    }),
  ),
  // Of any text: one that was not issued for the list is refused as `invalid_cursor`, whatever its shape.
  cursor: Type.Optional(Type.String({ description: "Opaque; from `next_cursor`." })),
});

/** Of a list without filters. */
export const PageQuery = Type.Object(pageQuery(), { additionalProperties: false });
export type PageQuery = Static<typeof PageQuery>;
