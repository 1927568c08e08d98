import type { Run } from "@keelson/contract";
import { START_OPTIONS } from "../start/start-schemas.ts";
import type { Schema } from "../../ui/schema-form/json-schema.ts";

/** What a run was of, and what another run of it is started with. `options` are named as on the wire. */
export type StartRequest = {
  of: { task: string } | { actor: string };
  payload: unknown;
  options: Readonly<Record<string, unknown>>;
};

/** The options that the run was started with, as far as it shows them. The version is the current one. */
export function optionsOf(run: Run): Record<string, unknown> {
  const { tags, queue, priority, concurrency_key, max_duration } = run;
  return {
    ...(tags.length > 0 && { tags }),
    queue,
    ...(concurrency_key !== null && { concurrency_key }),
    ...(priority !== 0 && { priority }),
    ...(max_duration !== null && { max_duration }),
  };
}

/** The options of a start, whose version is one of these. None are known yet: any text. */
export function optionsSchema(run: Run, versions: readonly string[]): Schema {
  if (versions.length === 0) return START_OPTIONS;
  const { properties } = START_OPTIONS as { properties: Record<string, Schema> };
  const version = {
    enum: [...new Set([...versions, run.deployment_version])],
    description: `The version of the code. Without one, the current version runs. This run had ${run.deployment_version}.`,
  };
  return {
    ...START_OPTIONS,
    properties: {
      deployment_version: version,
      ...Object.fromEntries(Object.entries(properties).filter(([name]) => name !== "deployment_version")),
    },
  };
}
