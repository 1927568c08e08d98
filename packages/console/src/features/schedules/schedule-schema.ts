import { DECLARED_ID_PATTERN, PRINTABLE_PATTERN } from "@keelson/contract/plain";
import type { Schema } from "../../ui/schema-form/json-schema.ts";

const VIEWER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const unique = (names: readonly string[]): string[] => [...new Set(names)];

/**
 * What a definition of a schedule asks for. `tasks` are those of the current deployment; without any, the name is typed.
 * `current` is what a schedule that is edited has, which may be none of them.
 */
export function definitionSchema(
  tasks: readonly string[],
  current: { task: string; timezone: string } | null,
): Schema {
  const known = unique([...(current === null ? [] : [current.task]), ...tasks]);
  const zones = unique([
    ...(current === null ? [] : [current.timezone]),
    ...["UTC", VIEWER_ZONE],
    ...Intl.supportedValuesOf("timeZone"),
  ]);
  return {
    type: "object",
    required: [...(current === null ? ["deduplication_key"] : []), "task", "cron", "timezone", "active"],
    properties: {
      ...(current === null && {
        deduplication_key: {
          type: "string",
          maxLength: 100,
          minLength: 1,
          pattern: PRINTABLE_PATTERN,
          description: "A name that no other schedule of this environment has.",
        },
      }),
      task: known.length > 0 ? { enum: known } : { type: "string", pattern: DECLARED_ID_PATTERN },
      cron: {
        type: "string",
        minLength: 1,
        maxLength: 100,
        examples: ["0 7 * * MON-FRI"],
        description: "Minute, hour, day of month, month, day of week. A sixth field in front sets seconds",
      },
      timezone: { enum: zones, default: "UTC" },
      external_id: {
        type: "string",
        minLength: 1,
        maxLength: 100,
        pattern: PRINTABLE_PATTERN,
        description: "A name for the purpose of this schedule.",
      },
      active: { type: "boolean", default: true },
    },
  };
}

/** Where the form shows what the server says of a member of the body. */
export const definitionPathOf = (path: string): string =>
  path.startsWith("options.") ? path : `definition.${path}`;
