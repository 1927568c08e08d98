import { queue, task, type RunContext } from "@keelson/sdk";
import { countFiles, type PartTotals } from "../count-files.ts";
import { nameOfPart, type Part } from "../plan-parts.ts";
import { listTrackedFiles } from "../tracked-files.ts";

export type DirectoryRequest = Part & {
  /** The top folder of the checkout. */
  root: string;
  failing_file?: string;
  failing_attempts?: number;
};

/** Files are read by few processes at once: more would not make one disk faster. */
export const directories = queue({ name: "repository-report/directories", concurrencyLimit: 4 });

const PROGRESS_FILES = 500;

/** Counts the files of one part of a repository. A file that cannot be read fails the attempt, and the policy tries again. */
export const directoryReport = task({
  id: "directory-report",
  description: "Counts files, lines and languages in one directory of a git repository.",
  queue: directories,
  retry: { maxAttempts: 3, initialDelay: "500ms", maxDelay: "2s" },
  maxDuration: "10m",
  payload: {
    type: "object",
    additionalProperties: false,
    required: ["root", "directory", "recursive"],
    properties: {
      root: { type: "string", minLength: 1, maxLength: 4096 },
      directory: { type: "string", minLength: 1, maxLength: 4096 },
      recursive: { type: "boolean" },
      failing_file: { type: "string", minLength: 1, maxLength: 4096 },
      failing_attempts: { type: "integer", minimum: 1, maximum: 100 },
    },
  },
  async run(
    request: DirectoryRequest,
    { logger, metadata, signal, attempt }: RunContext,
  ): Promise<PartTotals> {
    const {
      root,
      failing_file: failingFile,
      failing_attempts: failingAttempts = Number.POSITIVE_INFINITY,
    } = request;
    const paths = await listTrackedFiles(root, request, signal);
    const name = nameOfPart(request);
    logger.info(`Counting ${paths.length} files of ${name}`, { attempt: attempt.number });
    const showProgress = (done: number): void => metadata.set("files", { done, total: paths.length });
    showProgress(0);
    const totals = await countFiles(root, paths, {
      signal,
      failingFile: attempt.number <= failingAttempts ? failingFile : undefined,
      onFile: (done) => {
        if (done % PROGRESS_FILES === 0) showProgress(done);
      },
    });
    showProgress(totals.files);
    logger.info(`Counted ${totals.lines} lines in ${totals.files} files of ${name}`);
    return totals;
  },
});
