import { setImmediate as turn } from "node:timers/promises";
import {
  BUNDLE_FORMAT_VERSION,
  parseDuration,
  WORKER_PROTOCOL_VERSION,
  type CreateDeployment,
  type DeploymentManifest,
  type EntrypointDeclaration,
  type ErrorIssue,
} from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { payloadSchemaIssues } from "../entrypoints/payload-validator.ts";
import { MAX_DELAY_MS } from "../runs/retry-policy.ts";
import { duplicateIssues } from "./deployment.ts";

/**
 * What a route's schema cannot say of a new deployment. Runs before the transaction, because compiling schemas takes time.
 *
 * @throws DomainError `unsupported_worker_protocol`, or `invalid_request` with an issue for each place.
 */
export async function checkManifest(request: CreateDeployment): Promise<void> {
  if (request.worker_protocol_version !== WORKER_PROTOCOL_VERSION) {
    throw new DomainError(
      "unsupported_worker_protocol",
      `This server speaks worker protocol ${WORKER_PROTOCOL_VERSION}, not ${request.worker_protocol_version}. Deploy with a matching CLI.`,
      { supported: [WORKER_PROTOCOL_VERSION] },
    );
  }
  const issues = [
    ...bundleFormatIssues(request.bundle_format_version),
    ...duplicateIssues(request.manifest),
    ...(await declarationIssues(request.manifest)),
  ];
  if (issues.length > 0) throw invalidRequest(issues.slice(0, MAX_ISSUES));
}

const MAX_ISSUES = 20;

const bundleFormatIssues = (version: number): ErrorIssue[] =>
  version === BUNDLE_FORMAT_VERSION
    ? []
    : [
        {
          path: "bundle_format_version",
          message: `must be ${BUNDLE_FORMAT_VERSION}, which is what this server and its workers can run`,
        },
      ];

async function declarationIssues(manifest: DeploymentManifest): Promise<ErrorIssue[]> {
  const issues: ErrorIssue[] = [];
  for (const [kind, entrypoints] of [
    ["tasks", manifest.tasks],
    ["actors", manifest.actors ?? []],
  ] as const) {
    for (const [index, entrypoint] of entrypoints.entries()) {
      const path = `manifest.${kind}.${index}`;
      issues.push(...durationIssues(entrypoint, path));
      if (!entrypoint.payload_schema) continue;
      issues.push(...payloadSchemaIssues(entrypoint.payload_schema, `${path}.payload_schema`));
      // Other requests have their turn between two compilations.
      await turn();
    }
  }
  return issues;
}

/** The pattern of a duration admits numbers that no clock reaches; and a bound of nothing would refuse every start. */
function durationIssues({ max_duration, ttl, retry }: EntrypointDeclaration, path: string): ErrorIssue[] {
  const durations: [field: string, text: string | null | undefined, minimumMs: number][] = [
    ["max_duration", max_duration, 1],
    ["ttl", ttl, 1],
    ["retry.initial_delay", retry?.initial_delay, 0],
    ["retry.max_delay", retry?.max_delay, 0],
  ];
  return durations.flatMap(([field, text, minimumMs]) => {
    if (text === null || text === undefined) return [];
    const ms = parseDuration(text);
    if (ms !== null && ms >= minimumMs && ms <= MAX_DELAY_MS) return [];
    return [{ path: `${path}.${field}`, message: `"${text}" must be from ${minimumMs}ms to 3650d` }];
  });
}
