import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import { NotFoundError, type Client, type Run, type RunQuery } from "@keelson/sdk";
import type { Command } from "commander";
import { EXIT, ExitError, usageError } from "./exit-codes.ts";
import { collectWord, parseIntegerOption } from "./parse-arguments.ts";

/** What says which runs a command is for, besides their ids. */
export type RunSelection = {
  status?: RunStatus[];
  task?: string;
  actor?: string;
  tag?: string;
  /** An error group. */
  error?: string;
  search?: string;
  createdAfter?: string;
  createdBefore?: string;
  limit: number;
};

export type BulkFlags = RunSelection & {
  dryRun?: boolean;
  yes?: boolean;
  allMatching?: boolean;
  reason?: string;
  wait?: boolean;
  /** Of a replay. */
  deploymentVersion?: string;
};

const LIMIT = 1_000;

/** @param verb what the command does with them, such as "cancel" */
export const addRunSelection = (command: Command, verb: string): Command =>
  command
    .argument("[runs...]", "their ids; without ids, the options select the runs")
    .option("--status <status>", "only runs in this status (repeatable)", collectWord(RUN_STATUSES))
    .option("--task <id>", "only runs of this task")
    .option("--actor <id>", "only runs of this actor")
    .option("--tag <tag>", "only runs with this tag")
    .option("--error <id>", "only runs of this error group")
    .option("--search <text>", "only runs with these words; see `keelson run list --help`")
    .option("--created-after <time>", "only runs created after this time (RFC 3339)")
    .option("--created-before <time>", "only runs created before this time (RFC 3339)")
    .option("--limit <n>", "refuse when more runs than this match", parseIntegerOption(1, 100_000), LIMIT)
    .option("--all-matching", "all runs that match, in one bulk action of the server")
    .option("--reason <text>", "with --all-matching: why, for the audit log")
    .option("--wait", "with --all-matching: wait until the bulk action has ended")
    .option("--dry-run", `show the runs and ${verb} none`)
    .option("-y, --yes", "do not ask");

/** What of the flags is a filter of the list. */
export const filterOf = ({
  status,
  task,
  actor,
  tag,
  error,
  search,
  createdAfter,
  createdBefore,
}: BulkFlags): RunQuery => ({
  ...(status !== undefined && { status }),
  ...(task !== undefined && { task }),
  ...(actor !== undefined && { actor }),
  ...(tag !== undefined && { tag }),
  ...(error !== undefined && { errorGroupId: error }),
  ...(search !== undefined && { search }),
  ...(createdAfter !== undefined && { createdAfter }),
  ...(createdBefore !== undefined && { createdBefore }),
});

/** All of them: when one is not there, the ids are not what they were meant to be. */
async function findRuns(client: Client, ids: readonly string[], signal: AbortSignal): Promise<Run[]> {
  const missing: string[] = [];
  const found = await Promise.all(
    ids.map(async (id) => {
      try {
        return [await client.runs.get(id, { signal })];
      } catch (error) {
        if (ids.length === 1 || !(error instanceof NotFoundError)) throw error;
        missing.push(id);
        return [];
      }
    }),
  );
  if (missing.length === 0) return found.flat();
  const message = `This environment has no run ${missing.join(", ")}. Nothing was changed.\n  List the runs: \`keelson run list\`.`;
  throw new ExitError(EXIT.notFound, message);
}

/** The runs of the ids, or those that the options select. Without both it is a mistake: nobody means every run. */
export async function selectRuns(
  client: Client,
  ids: readonly string[],
  flags: BulkFlags,
  { statuses, signal }: { statuses: readonly RunStatus[]; signal: AbortSignal },
): Promise<Run[]> {
  const filter = filterOf(flags);
  const isFiltered = Object.keys(filter).length > 0;
  if (ids.length > 0) {
    if (isFiltered) throw usageError("Give either the ids of runs, or options that select runs");
    return findRuns(client, [...new Set(ids)], signal);
  }
  if (!isFiltered)
    throw usageError("Say which runs: their ids, or options such as --task report --status failed");
  const { limit } = flags;
  const runs: Run[] = [];
  for await (const run of client.runs.list({ status: statuses, ...filter, limit: 200 }, { signal })) {
    runs.push(run);
    if (runs.length > limit)
      throw usageError(`More than ${limit} runs match: narrow the options, or raise --limit`);
  }
  return runs;
}
