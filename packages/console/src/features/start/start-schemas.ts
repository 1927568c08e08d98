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
  description: "Words to filter runs by.",
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
    description: "Runs with a higher priority start first. The default is 0.",
  },
  queue: {
    type: "string",
    pattern: QUEUE_NAME_PATTERN,
    maxLength: 128,
    description: "Overrides the queue that the task declares.",
  },
  concurrency_key: text("Runs with the same key wait for each other.", 256),
  ttl: duration("The run expires if it has not started within this time."),
  max_duration: duration("The run is stopped after this time."),
};

export const START_OPTIONS: Schema = {
  type: "object",
  properties: {
    tags,
    delay: duration("Delays the start by this time."),
    ...RUN_OPTIONS,
    deployment_version: text("Runs another version of the code, such as 20261120.1.", 64),
    workspace_id: text("The workspace that the run works in.", 64),
    idempotency_key: text("A repeated start with the same key returns the first run.", 100),
  },
};

/** What a schedule gives to its runs. */
export const SCHEDULE_OPTIONS: Schema = { type: "object", properties: { tags, ...RUN_OPTIONS } };

export const SESSION_FIELDS: Schema = {
  type: "object",
  properties: {
    external_id: {
      ...text("Your own id of the session. If an open session has this id, it continues.", 100),
      pattern: PRINTABLE_PATTERN,
    },
    tags,
    metadata: { type: "object", description: "Any JSON that you want to find on the run later." },
  },
};

/** Where the form shows a part of what the server refuses: options are members of the body itself. */
export const formPathOf = (path: string): string =>
  /^(payload|input|session)(\.|$)/.test(path) ? path : `options.${path}`;
