import { join } from "node:path";
import { Client, NonRetryableError, queue, task, type RunContext } from "@keelson/sdk";
import { cancelParts, startParts, waitForParts } from "../part-runs.ts";
import { countText } from "../chart/numbers.ts";
import { findRepository } from "../find-repository.ts";
import { readHistory } from "../history.ts";
import { nameOfPart, planParts, WHOLE } from "../plan-parts.ts";
import { composeReport, type Report } from "../report.ts";
import { listTrackedFiles } from "../tracked-files.ts";
import { writeReport, type WrittenReport } from "../write-report.ts";

export type ReportRequest = {
  /** A folder in the checkout of a git repository. Default: the one the worker was started in. */
  path?: string;
  /** The folder to write to. Default: `report/<run id>` in the data folder, or in the one the worker was started in. */
  output?: string;
  /** A tracked file, relative to the repository, to treat as one that cannot be read. */
  failing_file?: string;
  /** How many attempts fail at that file. Default: all. */
  failing_attempts?: number;
};

export type ReportOutput = WrittenReport & {
  complete: boolean;
  totals: Report["totals"];
  failed: { directory: string; reason: string }[];
};

/** A run holds its place on a worker while it waits for its parts: few at once leave places for the parts. */
const reports = queue({ name: "repository-report", concurrencyLimit: 2 });

const text = (description: string): object => ({
  type: "string",
  minLength: 1,
  maxLength: 4096,
  description,
});

export const repositoryReport = task({
  id: "repository-report",
  description:
    "Reads the history and the files of a git repository on the worker's machine; writes report.json and report.svg.",
  queue: reports,
  execution: "exclusive",
  retry: { maxAttempts: 3, initialDelay: "1s", maxDelay: "5s" },
  maxDuration: "30m",
  payload: {
    type: ["object", "null"],
    additionalProperties: false,
    properties: {
      path: text("A folder in the checkout of a git repository. Default: the one the worker was started in."),
      output: text("The folder to write the report to. Default: report/<run id>."),
      failing_file: text("A tracked file to treat as one that cannot be read, relative to the repository."),
      failing_attempts: {
        type: "integer",
        minimum: 1,
        maximum: 100,
        description: "How many attempts fail at that file. Default: all.",
      },
    },
    dependentRequired: { failing_attempts: ["failing_file"] },
  },
  async run(payload: ReportRequest | null | undefined, ctx: RunContext): Promise<ReportOutput> {
    const request = payload ?? {};
    const { logger, signal } = ctx;
    const repository = await findRepository(request.path ?? ".", signal);
    const paths = await listTrackedFiles(repository.root, WHOLE, signal);
    requireTracked(request.failing_file, paths);
    const plan = planParts(paths);
    logger.info(`Reading ${repository.root}: ${paths.length} files in ${plan.length} directories`);

    const client = new Client();
    const started = await startParts(client, plan, repository.root, request, ctx);
    logger.info(`Started ${countText(started.length, "run")}, one for each directory`);
    try {
      const [parts, history] = await Promise.all([
        waitForParts(client, started, ctx),
        readHistory(repository.root, repository.head, signal),
      ]);
      logger.info(
        `Read ${countText(history.commits, "commit")} by ${countText(history.authors, "person", "people")}`,
      );
      const report = composeReport({
        repository,
        history,
        parts,
        runId: ctx.run.id,
        generatedAt: new Date(),
      });
      const written = await writeReport(request.output ?? defaultFolder(ctx.run.id), report);
      logger.info(`Wrote ${written.json} and ${written.svg}`);
      const failed = parts.flatMap((part) =>
        part.status === "failed" ? [{ directory: nameOfPart(part), reason: part.reason }] : [],
      );
      return { ...written, complete: report.complete, totals: report.totals, failed };
    } catch (error) {
      if (isLastWord(ctx)) await cancelParts(client, started, logger);
      throw error;
    }
  },
});

function requireTracked(file: string | undefined, paths: readonly string[]): void {
  if (file === undefined || paths.includes(file)) return;
  throw new NonRetryableError(
    `failing_file is ${file}, which is no file of the repository; name one as \`git ls-files\` does`,
  );
}

const defaultFolder = (runId: string): string =>
  join(process.env["KEELSON_DATA_DIR"] || ".", "report", runId);

/** Whether no attempt after this one would take the parts' results: the run was cancelled, or this was its last attempt. */
const isLastWord = ({ signal, attempt }: RunContext): boolean =>
  (signal.reason as Error | undefined)?.name === "CancelledError" || attempt.number >= attempt.max;
