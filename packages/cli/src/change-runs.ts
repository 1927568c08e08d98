import type { Client, Run } from "@keelson/sdk";
import { ApiError } from "@keelson/sdk";
import type { RunStatus } from "@keelson/contract/plain";
import type { Cli } from "./cli.ts";
import { confirm } from "./confirm.ts";
import { EXIT, ExitError, usageError } from "./exit-codes.ts";
import { printRuns } from "./print-runs.ts";
import { selectRuns, type BulkFlags } from "./select-runs.ts";

export type RunChange = {
  /** As in "Cancel 3 runs". */
  verb: string;
  /** Of runs that are selected by options alone. */
  statuses: readonly RunStatus[];
  apply: (client: Client, run: Run) => Promise<Run>;
  describe: (run: Run) => string;
};

const countOf = (runs: readonly Run[]): string => `${runs.length} run${runs.length === 1 ? "" : "s"}`;

/** One after another: who interrupts a long list knows where it stopped. What fails is told, and the rest goes on. */
async function applyAll(cli: Cli, client: Client, runs: readonly Run[], change: RunChange) {
  const changed: Run[] = [];
  const failed: { id: string; message: string }[] = [];
  for (const run of runs) {
    cli.host.signal.throwIfAborted();
    try {
      const after = await change.apply(client, run);
      changed.push(after);
      if (!cli.isJson()) cli.print(change.describe(after));
    } catch (error) {
      if (runs.length === 1 || !(error instanceof ApiError)) throw error;
      failed.push({ id: run.id, message: error.message });
      if (!cli.isJson()) cli.notice(`${run.id}: ${error.message}`);
    }
  }
  return { changed, failed };
}

/** What `run cancel` and `run replay` do with ids or with a selection. A single id answers with its run. */
export async function changeRuns(
  cli: Cli,
  ids: readonly string[],
  flags: BulkFlags,
  change: RunChange,
): Promise<void> {
  const { signal } = cli.host;
  if (flags.wait === true || flags.reason !== undefined)
    throw usageError("--wait and --reason belong to a bulk action: add --all-matching");
  const client = await cli.client();
  const runs = await selectRuns(client, ids, flags, { statuses: change.statuses, signal });
  if (flags.dryRun === true) {
    if (cli.isJson()) cli.printJson({ runs, dry_run: true });
    else {
      if (runs.length > 0) printRuns(cli, runs);
      cli.notice(`Would ${change.verb.toLowerCase()} ${countOf(runs)}. Nothing was changed.`);
    }
    return;
  }
  if (ids.length === 0 && runs.length > 0)
    await confirm(cli, `${change.verb} ${countOf(runs)}`, flags.yes === true);
  const { changed, failed } = await applyAll(cli, client, runs, change);
  if (cli.isJson()) cli.printJson(ids.length === 1 ? changed[0] : { runs: changed, failed });
  else if (runs.length === 0) cli.notice("No runs match");
  if (failed.length > 0) throw new ExitError(EXIT.failure, `${failed.length} of ${countOf(runs)} failed`);
}
