import { setImmediate as turn } from "node:timers/promises";
import {
  BUNDLE_FORMAT_VERSIONS,
  DEFAULT_SANDBOX,
  isBundleFormatVersion,
  listIsolationProblems,
  actorOnlyProblems,
  MCP_OPERATION_PREFIX,
  WORKER_PROTOCOL_VERSION,
  type CreateDeployment,
  type DeploymentManifest,
  type EntrypointDeclaration,
  type ErrorIssue,
} from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { payloadSchemaIssues } from "../entrypoints/payload-validator.ts";
import { durationIssues } from "../runs/check-durations.ts";
import { scheduleTimeProblem } from "../schedules/next-run.ts";
import { DEFAULT_TIME_ZONE } from "../schedules/define-schedule.ts";
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
    ...scheduleIssues(request.manifest),
    ...sandboxIssues(request.manifest),
  ];
  if (issues.length > 0) throw invalidRequest(issues.slice(0, MAX_ISSUES));
}

const MAX_ISSUES = 20;

const bundleFormatIssues = (version: number): ErrorIssue[] =>
  isBundleFormatVersion(version)
    ? []
    : [
        {
          path: "bundle_format_version",
          message: `must be ${BUNDLE_FORMAT_VERSIONS.join(" or ")}, which is what this server and its workers can run`,
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
      issues.push(...toolIssues(kind, entrypoint, `${path}.mcp`));
      issues.push(...durationIssues(entrypoint, path));
      for (const problem of [...listIsolationProblems(entrypoint), ...actorOnlyProblems(kind, entrypoint)])
        issues.push({ path: `${path}.${problem.path}`, message: problem.message });
      if (!entrypoint.payload_schema) continue;
      issues.push(...payloadSchemaIssues(entrypoint.payload_schema, `${path}.payload_schema`));
      // Other requests have their turn between two compilations.
      await turn();
    }
  }
  return issues;
}

/** Only tasks are tools, and not under the names of the server's own. */
function toolIssues(
  kind: "tasks" | "actors",
  { id, mcp }: EntrypointDeclaration,
  path: string,
): ErrorIssue[] {
  if (mcp === undefined || mcp === null) return [];
  if (kind === "actors")
    return [{ path, message: "an actor is no tool; declare a task that sends it input" }];
  return id.startsWith(MCP_OPERATION_PREFIX)
    ? [
        {
          path,
          message: `the names of tools that begin with ${MCP_OPERATION_PREFIX} are the server's own; rename the task`,
        },
      ]
    : [];
}

/** A sandbox that an entrypoint names must be declared beside it, or be the built-in one. */
function sandboxIssues({ tasks, actors, sandboxes }: DeploymentManifest): ErrorIssue[] {
  const known = new Set([DEFAULT_SANDBOX, ...(sandboxes ?? []).map(({ id }) => id)]);
  return Object.entries({ tasks, actors: actors ?? [] }).flatMap(([kind, entrypoints]) =>
    entrypoints.flatMap(({ sandbox }, index) =>
      !sandbox || known.has(sandbox)
        ? []
        : [
            {
              path: `manifest.${kind}.${index}.sandbox`,
              message: `"${sandbox}" is not declared; declare it with sandbox(), or leave it out`,
            },
          ],
    ),
  );
}

function scheduleIssues({ schedules = [], tasks }: DeploymentManifest): ErrorIssue[] {
  const declared = new Set(tasks.map(({ id }) => id));
  return schedules.flatMap(({ task, cron, timezone = DEFAULT_TIME_ZONE, options = {} }, index) => {
    const path = `manifest.schedules.${index}`;
    const problem = scheduleTimeProblem(cron, timezone);
    return [
      ...(declared.has(task)
        ? []
        : [
            {
              path: `${path}.task`,
              message: `"${task}" is no task of this manifest; declare it, or name another`,
            },
          ]),
      ...(problem === null ? [] : [{ path: `${path}.${problem.field}`, message: problem.message }]),
      ...durationIssues(options, `${path}.options`),
    ];
  });
}
