import {
  encodeId,
  EventsOperation,
  formatDuration,
  LeaseRequest,
  LeaseResponse,
  LIMITS,
  LogsOperation,
  MetadataOperation,
  OperationResult,
  parseDuration,
  ReleaseOperation,
  Renew,
  RenewResponse,
  Report,
  ReportResponse,
  StartOperation,
  ERROR_CODES,
  type DeploymentCheck,
  type Operation,
  type OperationKind,
} from "@keelson/contract";
import type { TSchema } from "typebox";
import { leaseExecutions } from "../../core/executions/lease-executions.ts";
import { renewExecutions } from "../../core/executions/renew-executions.ts";
import {
  decodeOperation,
  reportOperations,
  type LeasedOperation,
  type OperationOutcome,
} from "../../core/executions/report-operations.ts";
import { wakeSettled } from "../../core/executions/settle-changes.ts";
import type { LeasedExecution } from "../../core/executions/claim-executions.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Route } from "../route.ts";
import { executionJson, toCancellation, type EntrypointFacts } from "../wire/execution.ts";
import { toTimestamp } from "../wire/time.ts";
import { bothMounts } from "./mounts.ts";

const worker = { kind: "worker" } as const;
const DEFAULT_WAIT_MS = 25_000;
const MAX_WAIT_MS = 60_000;

async function entrypointFacts(server: ServerContext, leased: LeasedExecution): Promise<EntrypointFacts> {
  const deployment = await server.deployments.byId(leased.environmentId, leased.deploymentId);
  if (deployment === null) throw new Error(`The deployment of run ${leased.runId} is gone.`);
  const declaration = deployment.tasks.get(leased.entrypoint)?.declaration;
  return {
    bundleDigest: deployment.bundleDigest,
    execution: declaration?.execution ?? "exclusive",
    memoryMb: declaration?.memory_mb ?? null,
  };
}

async function leaseJson(
  server: ServerContext,
  answer: {
    executions: LeasedExecution[];
    cancellations: { runId: string; leaseId: string; epoch: number }[];
    deploymentChecks: DeploymentCheck[];
  },
): Promise<string> {
  const executions = await Promise.all(
    answer.executions.map(async (leased) => executionJson(leased, await entrypointFacts(server, leased))),
  );
  return `{"lease_duration":"${formatDuration(server.leaseDurationMs)}","executions":[${executions.join(",")}],"cancellations":${JSON.stringify(answer.cancellations.map(toCancellation))},"deployment_checks":${JSON.stringify(answer.deploymentChecks)}}`;
}

/** Applies operations in one transaction; those of a malformed id are answered as leases that are not held. */
async function report(
  server: ServerContext,
  workerId: string,
  operations: readonly Operation[],
): Promise<OperationOutcome[]> {
  const decoded = operations.map(decodeOperation);
  const known = decoded.filter((operation): operation is LeasedOperation => operation !== null);
  if (known.length === 0) return operations.map(() => NOT_HELD);
  // Flushed even when it is logs alone: the answer lets the worker forget them, and a lease whose applied operations were
  // undone by a crash of PostgreSQL could not go on, because the worker's next sequence would leave a gap.
  const { outcomes, settled } = await server.db.transaction((tx) =>
    reportOperations(tx, workerId, known, server.clock(), server.random),
  );
  wakeSettled(server.wakes, settled);
  let next = 0;
  return decoded.map((operation) => (operation === null ? NOT_HELD : (outcomes[next++] ?? NOT_HELD)));
}

const NOT_HELD: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "There is no such lease; stop this execution.",
};

function resultOf(outcome: OperationOutcome, requestId: string): OperationResult {
  if (outcome.ok) return { status: 200, error: null };
  const { code, message } = outcome;
  return { status: ERROR_CODES[code].status, error: { code, message, details: null, request_id: requestId } };
}

/** An operation's own route: the same as a report of one, its refusal as the status. */
const operationRoute = (kind: OperationKind, schema: TSchema, summary: string): Route[] =>
  bothMounts("executions", {
    method: "POST",
    path: `/executions/${kind}`,
    operationId: `${kind}Execution`,
    summary,
    description:
      "One operation of a leased execution. Agents normally send many together with `executions/report`.",
    access: worker,
    body: schema,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "Applied, now or earlier.", schema: OperationResult } },
    handle: async ({ server, scope, body, request }) => {
      const [outcome = NOT_HELD] = await report(server, scope.workerId, [
        { kind, ...(body as object) } as Operation,
      ]);
      if (!outcome.ok) throw new DomainError(outcome.code, outcome.message);
      return { status: 200, body: resultOf(outcome, request.requestId) };
    },
  });

export const executionRoutes: Route[] = [
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/lease",
    operationId: "leaseExecutions",
    summary: "Lease executions",
    description:
      "Long poll for runs, cancellations and deployments to check; answers at the first of them or after `wait` (default 25s, at most 60s). " +
      "A repeat with the same `lease_request_id` is given the leases of the first answer that are still held.",
    access: worker,
    body: LeaseRequest,
    responses: { 200: { description: "What there is to do.", schema: LeaseResponse } },
    handle: async ({ server, scope, body, request }) => {
      const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
      if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
      const call = { ...scope, leaseRequestId: body.lease_request_id, limit: body.limit, waitMs };
      const answer = await leaseExecutions(server, call, request.signal);
      return { status: 200, json: await leaseJson(server, answer) };
    },
  }),
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/renew",
    operationId: "renewExecutions",
    summary: "Renew leases",
    description:
      "One call for all leases. Those in `lost` are no longer this worker's: it stops them and reports nothing more.",
    access: worker,
    body: Renew,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: {
      200: { description: "What was renewed, lost and is to be cancelled.", schema: RenewResponse },
    },
    handle: async ({ server, scope, body }) => {
      const { expiresAt, renewed, lost, cancellations } = await renewExecutions(
        server,
        scope.workerId,
        body.leases,
      );
      return {
        status: 200,
        body: {
          expires_at: toTimestamp(expiresAt),
          renewed: renewed.map((id) => encodeId("lease", id)),
          lost,
          cancellations: cancellations.map(toCancellation),
        },
      };
    },
  }),
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/report",
    operationId: "reportExecutions",
    summary: "Report operations",
    description:
      "Any mix of operations of many leases, applied in order in one transaction. Each has its own result; one that is refused does not hold the " +
      "others back. A repeat after a lost reply is answered as the first time and has no second effect.",
    access: worker,
    body: Report,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "A result for each operation, in order.", schema: ReportResponse } },
    handle: async ({ server, scope, body, request }) => {
      const outcomes = await report(server, scope.workerId, body.operations);
      return {
        status: 200,
        body: { results: outcomes.map((outcome) => resultOf(outcome, request.requestId)) },
      };
    },
  }),
  ...operationRoute("start", StartOperation, "Say that an attempt began"),
  ...operationRoute("logs", LogsOperation, "Append log chunks"),
  ...operationRoute("events", EventsOperation, "Append events"),
  ...operationRoute("metadata", MetadataOperation, "Change a run's metadata"),
  ...operationRoute("release", ReleaseOperation, "Give a lease back with its outcome"),
];
