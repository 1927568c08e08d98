import { DURATION_PATTERN, PRINTABLE_PATTERN, QUEUE_NAME_PATTERN, LIMITS } from "@keelson/contract/plain";
import type { Schema } from "../../ui/schema-form/json-schema.ts";

/** What a start may say besides its payload, as schemas: the form asks for all of it in the same way. */

const duration = (description: string): Schema => ({
  type: "string",
  pattern: DURATION_PATTERN,
  description: `${description} Such as 30s, 5m or 2h.`,
});
const text = (description: string, maxLength: number): Schema => ({
  type: "string",
  minLength: 1,
  maxLength,
  description,
});

const tags: Schema = {
  type: "array",
  description: "Words to find it by.",
  maxItems: LIMITS.tags,
  uniqueItems: true,
  items: { type: "string", minLength: 1, maxLength: LIMITS.tagCharacters, pattern: PRINTABLE_PATTERN },
};

/** What runs of schedules are given too. */
const RUN_OPTIONS = {
  priority: {
    type: "integer",
    minimum: -100,
    maximum: 100,
    description: "Higher ones run first; 0 if not given.",
  },
  queue: {
    type: "string",
    pattern: QUEUE_NAME_PATTERN,
    maxLength: 128,
    description: "Another queue than the declared one.",
  },
  concurrency_key: text("Runs of one key take turns.", 256),
  ttl: duration("It expires if it was not started by then."),
  max_duration: duration("It is stopped when it has run this long."),
};

export const START_OPTIONS: Schema = {
  type: "object",
  properties: {
    tags,
    delay: duration("It starts this much later."),
    ...RUN_OPTIONS,
    deployment_version: text("Another version of the code than the current one, such as 20261120.1.", 64),
    workspace_id: text("The workspace it works in.", 64),
    idempotency_key: text(
      "A start with a key that was used lately answers with the run of the first one.",
      100,
    ),
  },
};

/** What a schedule gives to its runs. */
export const SCHEDULE_OPTIONS: Schema = { type: "object", properties: { tags, ...RUN_OPTIONS } };

export const SESSION_FIELDS: Schema = {
  type: "object",
  properties: {
    external_id: {
      ...text("Your own name for it. An open session of this name is gone on with.", 100),
      pattern: PRINTABLE_PATTERN,
    },
    tags,
    metadata: { type: "object", description: "What you want to know about it later." },
  },
};

/** Where the form shows a part of what the server refuses: options are members of the body itself. */
export const formPathOf = (path: string): string =>
  /^(payload|input|session)(\.|$)/.test(path) ? path : `options.${path}`;
