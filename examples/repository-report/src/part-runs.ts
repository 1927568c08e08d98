import { createHash } from "node:crypto";
import type { Client, Logger, Run, RunContext } from "@keelson/sdk";
import { nameOfPart, type Part, type PlannedPart } from "./plan-parts.ts";
import type { PartTotals } from "./count-files.ts";
import type { PartResult } from "./report.ts";
import { isInPart } from "./tracked-files.ts";
import { directoryReport, type DirectoryRequest } from "./tasks/directory-report.ts";

export type StartedPart = PlannedPart & { run: Run };
type Failing = Pick<DirectoryRequest, "failing_file" | "failing_attempts">;

/** Each wait reads a stream of its own; as many as there are parts would be more connections than it is worth. */
const WAITS_AT_ONCE = 8;

/** The same part of the same run has one key: an attempt after this one finds its parts instead of starting them again. */
function keyOf(runId: string, { directory, recursive }: Part): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([directory, recursive]))
    .digest("hex");
  return `${runId}/${digest.slice(0, 32)}`;
}

/** Starts a run for every part, on the code that this run has. Rejects when one cannot be started. */
export async function startParts(
  client: Client,
  plan: readonly PlannedPart[],
  root: string,
  { failing_file: file, failing_attempts: attempts }: Failing,
  { run, signal }: { run: Pick<RunContext["run"], "id" | "deploymentVersion">; signal: AbortSignal },
): Promise<StartedPart[]> {
  const results = await client.tasks.startBatch(
    plan.map((part) => {
      const payload: DirectoryRequest = { root, directory: part.directory, recursive: part.recursive };
      if (file !== undefined && isInPart(file, part)) {
        payload.failing_file = file;
        if (attempts !== undefined) payload.failing_attempts = attempts;
      }
      return {
        task: directoryReport,
        payload,
        idempotencyKey: keyOf(run.id, part),
        deploymentVersion: run.deploymentVersion,
        tags: [`report:${run.id}`],
      };
    }),
    { signal },
  );
  return results.map(({ run: started, error }, i) => {
    const part = plan[i] as PlannedPart;
    if (started === null)
      throw new Error(`${nameOfPart(part)} was not started: ${error.message}`, { cause: error });
    return { ...part, run: started };
  });
}

/** Waits until every part has ended, however it ended. The results are in the order of the parts. */
export async function waitForParts(
  client: Client,
  started: readonly StartedPart[],
  { logger, metadata, signal }: RunContext,
): Promise<PartResult[]> {
  const results: PartResult[] = [];
  const progress = { done: 0, total: started.length, failed: 0 };
  const showProgress = (): void => metadata.set("directories", progress);
  showProgress();
  const entries = started.entries();
  const waitForNext = async (): Promise<void> => {
    for (const [i, part] of entries) {
      const result = describeEnd(part, await client.runs.wait(part.run, { signal }));
      results[i] = result;
      progress.done += 1;
      if (result.status === "failed") {
        progress.failed += 1;
        logger.warn(`${nameOfPart(part)} is left out of the report`, {
          run: result.run_id,
          reason: result.reason,
        });
      }
      showProgress();
    }
  };
  await Promise.all(Array.from({ length: WAITS_AT_ONCE }, waitForNext));
  return results;
}

function describeEnd({ directory, recursive, files }: StartedPart, run: Run): PartResult {
  const part = { directory, recursive, files, run_id: run.id, attempts: run.attemptNumber ?? 0 };
  if (run.status === "succeeded") return { ...part, status: "complete", totals: run.output as PartTotals };
  return { ...part, status: "failed", reason: run.failure?.message ?? `its run was ${run.status}` };
}

/** Asks the parts that still run to end; what cannot be asked is logged, because the caller's own error matters more. */
export async function cancelParts(
  client: Client,
  started: readonly StartedPart[],
  logger: Logger,
): Promise<void> {
  const asked = await Promise.allSettled(started.map(({ run }) => client.runs.cancel(run.id)));
  for (const result of asked) {
    if (result.status === "rejected")
      logger.warn("A directory's run could not be cancelled", { error: result.reason });
  }
}
