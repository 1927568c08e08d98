import {
  decodeId,
  encodeId,
  formatDuration,
  LeaseRequest,
  LeaseResponse,
  LIMITS,
  parseDuration,
  Renew,
  RenewResponse,
  type Uuid,
} from "@keelson/contract";
import type { LeasedExecution } from "../../../core/executions/execution.ts";
import { leaseExecutions, type LeaseAnswer } from "../../../core/leases/lease-executions.ts";
import { NO_REPLAY, readReplays } from "../../../core/leases/read-replays.ts";
import { renewExecutions } from "../../../core/leases/renew-executions.ts";
import { giveSecrets } from "../../../core/leases/give-secrets.ts";
import type { SecretSet } from "../../../core/secrets/resolve-secrets.ts";
import { invalidRequest } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { decodeLease } from "./decode-lease.ts";
import { resumptionJson } from "./durable-wire.ts";
import {
  entrypointTexts,
  executionJson,
  toCancellation,
  toDeploymentCheck,
  toInterrupt,
  type EntrypointFacts,
  type EntrypointTexts,
} from "./execution-wire.ts";
import { toTimestamp } from "../../edge/time.ts";
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
    bundleFormatVersion: deployment.bundleFormatVersion,
    execution: declaration?.execution ?? "exclusive",
    memoryMb: declaration?.memory_mb ?? null,
    isolation: declaration?.isolation ?? "process",
    folders: declaration?.folders ?? [],
    secrets: declaration?.secrets ?? [],
  };
}

type Entrypoint = { facts: EntrypointFacts; texts: EntrypointTexts };

const entrypointOf = async (server: ServerContext, leased: LeasedExecution): Promise<Entrypoint> => {
  const facts = await entrypointFacts(server, leased);
  return { facts, texts: entrypointTexts(leased, facts) };
};

/** Executions with their entrypoints, of which a lease has few: each is looked up and written once. */
async function withEntrypoints(
  server: ServerContext,
  executions: readonly LeasedExecution[],
): Promise<LeasedEntrypoint[]> {
  const firsts = new Map<string, LeasedExecution>();
  for (const leased of executions) firsts.set(keyOfEntrypoint(leased), leased);
  const known = new Map(
    await Promise.all(
      [...firsts].map(async ([key, leased]) => [key, await entrypointOf(server, leased)] as const),
    ),
  );
  return executions.map((leased) => ({
    leased,
    entrypoint: known.get(keyOfEntrypoint(leased)) as Entrypoint,
  }));
}

const keyOfEntrypoint = ({
  environmentId,
  deploymentId,
  entrypointKind,
  entrypoint,
}: LeasedExecution): string => `${environmentId} ${deploymentId} ${entrypointKind} ${entrypoint}`;

type LeasedEntrypoint = { leased: LeasedExecution; entrypoint: Entrypoint };

/** Secrets by run, of the executions that declare any; most declare none and cost nothing. */
async function secretsOf(
  server: ServerContext,
  workerId: Uuid<"wkr">,
  entrypoints: readonly LeasedEntrypoint[],
): Promise<Map<string, SecretSet>> {
  const needs = entrypoints.flatMap(
    ({
      leased,
      entrypoint: {
        facts: { secrets: names },
      },
    }) => (names.length === 0 ? [] : [{ leased, names }]),
  );
  if (needs.length === 0) return new Map();
  return giveSecrets(server, workerId, needs);
}

async function leaseJson(server: ServerContext, workerId: Uuid<"wkr">, answer: LeaseAnswer): Promise<string> {
  const [entrypoints, replays] = await Promise.all([
    withEntrypoints(server, answer.executions),
    readReplays(server.db, answer.executions),
  ]);
  const sets = await secretsOf(server, workerId, entrypoints);
  const executions = entrypoints.flatMap(({ leased, entrypoint: { facts, texts } }) => {
    const secrets = facts.secrets.length === 0 ? null : sets.get(leased.runId);
    if (secrets === undefined) return [];
    const replay = replays.get(leased.runId) ?? NO_REPLAY;
    return [executionJson(leased, texts, secrets, replay, server)];
  });
  return `{"lease_duration":"${formatDuration(server.leaseDurationMs)}","executions":[${executions.join(",")}],"cancellations":${JSON.stringify(answer.cancellations.map(toCancellation))},"resumptions":[${answer.resumptions.map(resumptionJson).join(",")}],"interrupts":${JSON.stringify(answer.interrupts.map(toInterrupt))},"deployment_checks":${JSON.stringify(answer.deploymentChecks.map(toDeploymentCheck))},"draining":${answer.draining}}`;
}

export const executionRoutes: RouteDefinition[] = [
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/lease",
    name: "leaseExecutions",
    summary: "Lease executions",
    description:
      "Long poll for runs, cancellations, deployments to check and a drain. Answers when there is one of them, or after `wait` (default 25s, at " +
      "most 60s). A repeated request with the same `lease_request_id` gets the leases of the first response that are still held. A worker " +
      "that lists the `deployment_checks` that it is at keeps them, and gets those again whose response was lost. While the call waits, the " +
      "worker sends heartbeats: one that is not heard for two thirds of a lease is given nothing new.",
    access: worker,
    keepsAlive: true,
    body: LeaseRequest,
    responses: { 200: { description: "The work for the worker.", schema: LeaseResponse } },
    handle: async ({ server, scope, body, request }) => {
      const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
      if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
      const { lease_request_id: leaseRequestId, limit, deployment_checks: heldChecks = null } = body;
      const call = { ...scope, calledAt: server.clock(), leaseRequestId, limit, heldChecks, waitMs };
      const answer = await leaseExecutions(server, call, request.signal);
      for (const { environmentId } of answer.executions) server.turns.charge(environmentId, LEASE_COST);
      return { status: 200, json: await leaseJson(server, scope.workerId, answer) };
    },
  }),
  ...bothMounts("executions", {
    method: "POST",
    path: "/executions/renew",
    name: "renewExecutions",
    summary: "Renew leases",
    description:
      "One call for all leases. Those in `lost` are no longer this worker's: it stops them and reports nothing more.",
    access: worker,
    keepsAlive: true,
    body: Renew,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: {
      200: {
        description: "The renewed leases, the lost leases and the runs to cancel.",
        schema: RenewResponse,
      },
    },
    handle: async ({ server, scope, body }) => {
      const known = body.leases.flatMap((lease) => decodeLease(lease) ?? []);
      const renewal = await renewExecutions(server, scope.workerId, known);
      const renewed = JSON.stringify([...renewal.renewed].map((id) => encodeId("lease", id)));
      // As the worker wrote them: what could not be decoded is lost, too.
      const lost = JSON.stringify(
        body.leases
          .map((lease) => lease.lease_id)
          .filter((text) => !renewal.renewed.has(decodeId("lease", text) ?? "")),
      );
      const cancellations = JSON.stringify(renewal.cancellations.map(toCancellation));
      return {
        status: 200,
        json: `{"expires_at":"${toTimestamp(renewal.expiresAt)}","renewed":${renewed},"lost":${lost},"cancellations":${cancellations},"resumptions":[${renewal.resumptions.map(resumptionJson).join(",")}],"interrupts":${JSON.stringify(renewal.interrupts.map(toInterrupt))}}`,
      };
    },
  }),
];
