import type { BulkAction, BulkActionRequest, Client } from "@keelson/sdk";
import type { BulkActionKind, RunStatus } from "@keelson/contract/plain";
import { randomUUID } from "node:crypto";
import type { Cli } from "./cli.ts";
import { confirm } from "./confirm.ts";
import { EXIT, ExitError, usageError } from "./exit-codes.ts";
import { filterOf, type BulkFlags } from "./select-runs.ts";
import { printFields } from "./table.ts";

export type BulkCommand = {
  action: BulkActionKind;
  /** As in "Cancel 3 runs". */
  verb: string;
  /** Of runs that are selected by options alone. */
  statuses: readonly RunStatus[];
};

/** What `--all-matching` asks the server for. Without a filter it is a mistake: nobody means every run. */
function requestOf(
  ids: readonly string[],
  flags: BulkFlags,
  { action, statuses }: BulkCommand,
): BulkActionRequest {
  if (ids.length > 0) throw usageError("Give either the ids of runs, or --all-matching with options");
  const filter = filterOf(flags);
  if (Object.keys(filter).length === 0)
    throw usageError("Say which runs: options such as --task report --status failed");
  const { deploymentVersion, reason } = flags;
  return {
    action,
    filter: { status: statuses, ...filter },
    ...(deploymentVersion !== undefined && { deploymentVersion }),
    ...(reason !== undefined && { reason }),
  };
}

export function printBulkAction(cli: Cli, action: BulkAction): void {
  const { id, status, matched, moreMatched, done, skipped, failed } = action;
  if (cli.isJson()) cli.printJson(action);
  else
    printFields(cli, { id, status, matched: `${matched}${moreMatched ? "+" : ""}`, done, skipped, failed });
}

export async function finishBulkAction(cli: Cli, client: Client, id: string): Promise<void> {
  const ended = await client.runs.bulkActions.wait(id, { signal: cli.host.signal });
  printBulkAction(cli, ended);
  if (ended.failed > 0) throw new ExitError(EXIT.failure, `${ended.failed} of ${ended.matched} runs failed`);
  if (ended.status === "cancelled") throw new ExitError(EXIT.failure, "The bulk action was cancelled");
}

/** What `run cancel` and `run replay` do with `--all-matching`: they count, ask, and start a bulk action. */
export async function runBulkAction(
  cli: Cli,
  ids: readonly string[],
  flags: BulkFlags,
  command: BulkCommand,
): Promise<void> {
  const { signal } = cli.host;
  const request = requestOf(ids, flags, command);
  const client = await cli.client();
  const preview = await client.runs.bulkActions.preview(request, { signal });
  const count = `${preview.moreMatched ? "more than " : ""}${preview.matched} run${preview.matched === 1 ? "" : "s"}`;
  if (flags.dryRun === true) {
    if (cli.isJson()) cli.printJson(preview);
    else {
      for (const id of preview.sampleRunIds) cli.print(id);
      cli.notice(`Would ${command.verb.toLowerCase()} ${count}. Nothing was changed.`);
    }
    return;
  }
  if (preview.matched === 0) {
    if (cli.isJson()) cli.printJson(preview);
    else cli.notice("No runs match");
    return;
  }
  await confirm(cli, `${command.verb} ${count}`, flags.yes === true);
  // A repeat after a lost answer gives the same bulk action.
  const action = await client.runs.bulkActions.create(request, { signal, idempotencyKey: randomUUID() });
  if (flags.wait === true) return finishBulkAction(cli, client, action.id);
  printBulkAction(cli, action);
  cli.notice(`Follow it: keelson run bulk get ${action.id} --wait`);
}
