import {
  encodeId,
  formatDuration,
  LeaseRequest,
  LeaseResponse,
  LIMITS,
  parseDuration,
  Renew,
  RenewResponse,
} from "@keelson/contract";
import type { LeasedExecution } from "../../core/executions/claim-executions.ts";
import { leaseExecutions, type LeaseAnswer } from "../../core/executions/lease-executions.ts";
import { NO_REPLAY, readReplays } from "../../core/executions/read-replays.ts";
import { renewExecutions } from "../../core/executions/renew-executions.ts";
import { giveSecrets } from "../../core/secrets/give-secrets.ts";
import { wakeStreams } from "../../core/streams/stream-effects.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Route } from "../route.ts";
import { resumptionJson } from "../wire/durable.ts";
import { executionJson, toCancellation, type EntrypointFacts } from "../wire/execution.ts";
import { toTimestamp } from "../wire/time.ts";
import { bothMounts } from "./mounts.ts";

const worker = { kind: "worker" } as const;
const DEFAULT_WAIT_MS = 25_000;
const MAX_WAIT_MS = 60_000;
/** In shares of a small request: what an execution costs its environment. No lease waits for a turn. */
const LEASE_COST = 0.25;

async function entrypointFacts(server: ServerContext, leased: LeasedExecution): Promise<EntrypointFacts> {
  const deployment = await server.deployments.byId(leased.environmentId, leased.deploymentId);
  if (deployment === null) throw new Error(`The deployment of run ${leased.runId} is gone.`);
  const declared = leased.entrypointKind === "task" ? deployment.tasks : deployment.actors;
  const declaration = declared.get(leased.entrypoint)?.declaration;
  return {
    bundleDigest: deployment.bundleDigest,
    execution: declaration?.execution ?? "exclusive",
    memoryMb: declaration?.memory_mb ?? null,
    secrets: declaration?.secrets ?? [],
  };
}

type Entrypoint = { leased: LeasedExecution; facts: EntrypointFacts };

/** Values by run, of the executions that declare any; most declare none and cost nothing. */
async function secretsOf(
  server: ServerContext,
  workerId: string,
  entrypoints: readonly Entrypoint[],
): Promise<Map<string, Record<string, string>>> {
  const needs = entrypoints.flatMap(({ leased, facts: { secrets: names } }) =>
    names.length === 0 ? [] : [{ leased, names }],
  );
  if (needs.length === 0) return new Map();
  const { values, effects } = await server.db.transaction((tx) =>
    giveSecrets(tx, workerId, needs, { ...server, now: server.clock() }),
  );
  wakeStreams(server.wakes, effects);
  return values;
}

async function leaseJson(server: ServerContext, workerId: string, answer: LeaseAnswer): Promise<string> {
  const [entrypoints, replays] = await Promise.all([
    Promise.all(
      answer.executions.map(async (leased) => ({ leased, facts: await entrypointFacts(server, leased) })),
    ),
    readReplays(server.db, answer.executions),
  ]);
  const values = await secretsOf(server, workerId, entrypoints);
  const executions = entrypoints.flatMap(({ leased, facts }) => {
    const secrets = facts.secrets.length === 0 ? {} : values.get(leased.runId);
    if (secrets === undefined) return [];
    const replay = replays.get(leased.runId) ?? NO_REPLAY;
    return [executionJson(leased, facts, secrets, replay, server)];
  });
  return `{"lease_duration":"${formatDuration(server.leaseDurationMs)}","executions":[${executions.join(",")}],"cancellations":${JSON.stringify(answer.cancellations.map(toCancellation))},"resumptions":[${answer.resumptions.map(resumptionJson).join(",")}],"deployment_checks":${JSON.stringify(answer.deploymentChecks)},"draining":${answer.draining}}`;
}

export const executionRoutes: Route[] = [
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/lease",
    operationId: "leaseExecutions",
    summary: "Lease executions",
    description:
      "Long poll for runs, cancellations, deployments to check and a drain; answers at the first of them or after `wait` (default 25s, at most 60s). " +
      "A repeat with the same `lease_request_id` is given the leases of the first answer that are still held.",
    access: worker,
    body: LeaseRequest,
    responses: { 200: { description: "What there is to do.", schema: LeaseResponse } },
    handle: async ({ server, scope, body, request }) => {
      const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
      if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
      const call = { ...scope, leaseRequestId: body.lease_request_id, limit: body.limit, waitMs };
      const answer = await leaseExecutions(server, call, request.signal);
      for (const { environmentId } of answer.executions) server.turns.charge(environmentId, LEASE_COST);
      return { status: 200, json: await leaseJson(server, scope.workerId, answer) };
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
      const renewal = await renewExecutions(server, scope.workerId, body.leases);
      const renewed = JSON.stringify(renewal.renewed.map((id) => encodeId("lease", id)));
      const cancellations = JSON.stringify(renewal.cancellations.map(toCancellation));
      return {
        status: 200,
        json: `{"expires_at":"${toTimestamp(renewal.expiresAt)}","renewed":${renewed},"lost":${JSON.stringify(renewal.lost)},"cancellations":${cancellations},"resumptions":[${renewal.resumptions.map(resumptionJson).join(",")}]}`,
      };
    },
  }),
];
