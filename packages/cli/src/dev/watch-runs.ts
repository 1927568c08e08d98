import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, type Run } from "@keelson/sdk";
import type { Cli } from "../cli.ts";
import { showRun, type ShownProject } from "./show-run.ts";

const POLL_MS = 500;
const PAGE = 50;
/** Each is two open streams. */
const SHOWN_AT_ONCE = 10;
/** What was seen longer ago is no longer on the first page. */
const REMEMBERED = 2_000;

async function newestRuns(client: Client, signal: AbortSignal): Promise<Run[]> {
  return (await client.runs.list({ limit: PAGE }, { signal }).page()).items;
}

/** Runs that began while others are shown are counted, not shown: nobody reads more at once. */
export async function watchRuns(cli: Cli, project: ShownProject): Promise<void> {
  const { client, signal } = project;
  const seen = new Set<string>();
  const shown = new Set<string>();
  let missed = 0;
  const note = (run: Run): boolean => {
    if (seen.has(run.id)) return false;
    seen.add(run.id);
    if (seen.size > REMEMBERED) seen.delete(seen.values().next().value ?? "");
    return true;
  };
  const show = (run: Run): void => {
    if (shown.size >= SHOWN_AT_ONCE) {
      missed += 1;
      return;
    }
    shown.add(run.id);
    void showRun(cli, run, project)
      .catch((error: Error) => {
        if (!signal.aborted) cli.notice(`(${run.id} is no longer shown: ${error.message})`);
      })
      .finally(() => shown.delete(run.id));
  };
  const look = async (use: (run: Run) => void): Promise<void> => {
    const fresh = (await newestRuns(client, signal)).filter(note);
    for (const run of fresh.toReversed()) use(run);
    if (missed === 0 || shown.size >= SHOWN_AT_ONCE) return;
    cli.notice(`(${missed} more runs are not shown; \`keelson run list\` has them)`);
    missed = 0;
  };
  await repeat(look, show, signal);
}

/** The first look notes what was there before. A server that cannot be reached is asked again. */
async function repeat(
  look: (use: (run: Run) => void) => Promise<void>,
  show: (run: Run) => void,
  signal: AbortSignal,
): Promise<void> {
  let isFirst = true;
  while (!signal.aborted) {
    try {
      await look(isFirst ? () => undefined : show);
      isFirst = false;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      // A key without runs.read deploys all the same.
      if (error.status === 401 || error.status === 403) return;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}
