import type { Clock } from "../../clock.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import type { NewRun } from "./new-run.ts";
import { resolveStart, type StartRequest } from "./resolve-start.ts";
import type { RunStarter } from "./start-runs.ts";

export type StartTaskContext = { deployments: DeploymentCache; runStarter: RunStarter; newUuid: NewUuid; clock: Clock };

/** Each attempt reads the pointer again, so a second is needed only when promotions follow each other within it. */
const MAX_STALE_ATTEMPTS = 5;

/** Resolves and starts; a deployment that was promoted meanwhile is resolved again. */
export async function startTask(
  context: StartTaskContext,
  request: StartRequest,
): Promise<{ kind: "created"; run: NewRun } | { kind: "replayed"; runId: string }> {
  for (let attempt = 1; attempt <= MAX_STALE_ATTEMPTS; attempt += 1) {
    const run = await resolveStart(context.deployments, request, context.newUuid(), context.clock());
    const outcome = await context.runStarter.start(run);
    if (outcome.kind === "created") return { kind: "created", run };
    if (outcome.kind === "replayed") return outcome;
    context.deployments.forget(request.environmentId);
  }
  throw new DomainError("unavailable", "The current deployment keeps changing; try the start again.");
}
