/**
 * The wire without its schemas: words, limits, ids and durations. Nothing here loads a schema library, so that
 * the SDK inside a bundle and a short-lived command start in milliseconds.
 */
export * from "./ids.ts";
export * from "./example-ids.ts";
export * from "./versions.ts";
export * from "./limits.ts";
export * from "./page-limits.ts";
export * from "./durations.ts";
export * from "./error-codes.ts";
export * from "./permissions.ts";
export * from "./public-access.ts";
export * from "./credentials.ts";
export * from "./routed-cell.ts";
export * from "./sse.ts";
export * from "./runs.ts";
export * from "./default-retry.ts";
export * from "./error-groups.ts";
export * from "./run-metrics.ts";
export * from "./run-search.ts";
export * from "./sessions.ts";
export * from "./schedules.ts";
export * from "./secrets.ts";
export * from "./task-folders.ts";
export * from "./format-usd.ts";
export * from "./workspaces.ts";
export type * from "./bundle.ts";
export type * from "./archive.ts";
