import {
  EntrypointMetricsList,
  GetRunMetrics,
  ListEntrypointMetrics,
  METRICS_ENTRYPOINTS,
  RUN_METRICS_WINDOW_DEFAULT,
  RunMetrics,
} from "@keelson/contract";
import { readEntrypointMetrics, readRunMetrics } from "../../../core/run-rollups/read-run-metrics.ts";
import type { RolledKind } from "../../../core/run-rollups/run-rollup.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { toTimestamp } from "../../edge/time.ts";
import { EXAMPLE_ENTRYPOINT_METRICS, EXAMPLE_METRICS } from "./metrics-example.ts";
import { toEntrypointMetrics, toFigures, toGauges, toMetricsBucket } from "./metrics-wire.ts";

/** @throws DomainError `invalid_request` when both are asked for: a run is of a task or of an actor. */
function rolledOf({ task, actor }: GetRunMetrics): { kind: RolledKind; entrypoint: string } {
  if (task !== undefined && actor !== undefined)
    throw new DomainError(
      "invalid_request",
      "A run has a task or an actor: ask for the metrics of one of them.",
    );
  if (task !== undefined) return { kind: "task", entrypoint: task };
  return actor === undefined ? { kind: "all", entrypoint: "" } : { kind: "actor", entrypoint: actor };
}

async function readSeries(
  { db, clock }: ServerContext,
  { environmentId }: EnvironmentScope,
  query: GetRunMetrics,
): Promise<RunMetrics> {
  const now = clock();
  const length = query.window ?? RUN_METRICS_WINDOW_DEFAULT;
  const series = await readRunMetrics(db, environmentId, { ...rolledOf(query), length }, now);
  return {
    at: toTimestamp(now),
    window: length,
    since: toTimestamp(series.window.since),
    history_complete: series.isFilled,
    task: query.task ?? null,
    actor: query.actor ?? null,
    bucket_ms: series.window.bucketMs,
    total: toFigures(series.total),
    buckets: series.buckets.map(toMetricsBucket),
    gauges: series.gauges === null ? null : series.gauges.map(toGauges),
  };
}

async function readEntrypoints(
  { db, clock, deployments }: ServerContext,
  { environmentId }: EnvironmentScope,
  { kind, window: length = RUN_METRICS_WINDOW_DEFAULT }: ListEntrypointMetrics,
): Promise<EntrypointMetricsList> {
  const now = clock();
  const deployment = await deployments.current(environmentId);
  const declared = {
    ...(kind !== "actor" && { task: [...(deployment?.tasks.keys() ?? [])] }),
    ...(kind !== "task" && { actor: [...(deployment?.actors.keys() ?? [])] }),
  };
  const list = { length, limit: METRICS_ENTRYPOINTS };
  const { window, isFilled, entrypoints, isComplete } = await readEntrypointMetrics(
    db,
    environmentId,
    declared,
    list,
    now,
  );
  return {
    at: toTimestamp(now),
    window: length,
    since: toTimestamp(window.since),
    history_complete: isFilled,
    entrypoints: entrypoints.map(toEntrypointMetrics),
    entrypoints_complete: isComplete,
  };
}

const read = {
  in: ["v1", "api"],
  method: "GET",
  tag: "Runs",
  access: { kind: "environment", permission: "runs.read" },
} as const;

export const runMetricsRoutes: RouteDefinition[] = [
  route({
    ...read,
    path: "/runs/metrics",
    name: "getRunMetrics",
    summary: "Get the metrics of runs over time",
    description:
      "Counts, failure rate, queue time and duration of the runs that ended, and queue depth and worker slots. Runs are counted in the background: " +
      "a run counts some seconds after its end, exactly once. The cost does not grow with the number of runs.",
    query: GetRunMetrics,
    responses: { 200: { description: "The metrics.", schema: RunMetrics } },
    examples: { response: EXAMPLE_METRICS },
    handle: async ({ server, scope, query }) => ({
      status: 200,
      body: await readSeries(server, scope, query),
    }),
  }),
  route({
    ...read,
    path: "/runs/metrics/entrypoints",
    name: "listEntrypointMetrics",
    summary: "Get the metrics of each task and actor",
    description: "The figures of the whole window, and the newest run of each.",
    query: ListEntrypointMetrics,
    responses: { 200: { description: "The metrics by task and actor.", schema: EntrypointMetricsList } },
    examples: { response: EXAMPLE_ENTRYPOINT_METRICS },
    handle: async ({ server, scope, query }) => ({
      status: 200,
      body: await readEntrypoints(server, scope, query),
    }),
  }),
];
