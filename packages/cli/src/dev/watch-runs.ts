import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, type Run, type RunQuery } from "@keelson/sdk";
import type { Cli } from "../cli.ts";
import { showRun, type Shown, type ShownProject } from "./show-run.ts";

const POLL_MS = 500;
const PAGE = 50;
/** Each is two open streams. */
const SHOWN_AT_ONCE = 10;
/** How often those that are not shown are told. */
const TOLD_EVERY_MS = 5_000;
/** What was seen longer ago is no longer on the first page. */
const REMEMBERED = 2_000;

const listRuns = async (client: Client, signal: AbortSignal, query: RunQuery = {}): Promise<Run[]> =>
  (await client.runs.list({ ...query, limit: PAGE }, { signal }).page()).items;

const GOES_ON = ["queued", "running", "retry_delayed", "cancel_requested"] as const;

/** Keeps to the newest: what was seen longer ago is no longer on the first page. */
function keepNewest(kept: Set<string> | Map<string, unknown>): void {
  if (kept.size > REMEMBERED) kept.delete(kept.keys().next().value ?? "");
}

/** The runs that are shown, and those that only wait and are shown again when they go on. */
function createShownRuns(cli: Cli, project: ShownProject) {
  const shown = new Map<string, Shown & { leave: AbortController }>();
  const left = new Map<string, Shown>();
  /** Whether another one can be shown: a run may wait for days, and gives its place up. */
  const hasRoom = (): boolean => {
    if (shown.size < SHOWN_AT_ONCE) return true;
    const waiting = [...shown].find(([, { isWaiting }]) => isWaiting);
    if (waiting === undefined) return false;
    const [id, { leave, ...soFar }] = waiting;
    shown.delete(id);
    left.set(id, soFar);
    keepNewest(left);
    leave.abort();
    return true;
  };
  const show = (run: Run, soFar: Shown): void => {
    const leave = new AbortController();
    const own = { ...soFar, leave };
    shown.set(run.id, own);
    const signal = AbortSignal.any([project.signal, leave.signal]);
    void showRun(cli, run, own, { ...project, signal })
      .catch((error: Error) => {
        if (!signal.aborted) cli.notice(`(${run.id} is no longer shown: ${error.message})`);
      })
      .finally(() => {
        if (shown.get(run.id) === own) shown.delete(run.id);
      });
  };
  return {
    hasRoom,
    show,
    left,
    /** Shows those again that go on. */
    goOn(runs: readonly Run[]): void {
      for (const run of runs) {
        const soFar = left.get(run.id);
        if (soFar === undefined || run.status === "waiting" || !hasRoom()) continue;
        left.delete(run.id);
        show(run, soFar);
      }
    },
  };
}

/** Runs that began while as many others as can be shown are at work are counted, not shown: nobody reads more at once. */
export async function watchRuns(cli: Cli, project: ShownProject): Promise<void> {
  const { client, signal } = project;
  const seen = new Set<string>();
  const runs = createShownRuns(cli, project);
  let missed = 0;
  let tellsAgainAt = 0;
  const isNew = ({ id }: Run): boolean => {
    if (seen.has(id)) return false;
    seen.add(id);
    keepNewest(seen);
    return true;
  };
  const look = async (isFirst: boolean): Promise<void> => {
    const newest = await listRuns(client, signal);
    const fresh = newest.filter(isNew);
    if (isFirst) return;
    runs.goOn(newest);
    if (runs.left.size > 0) runs.goOn(await listRuns(client, signal, { status: GOES_ON }));
    for (const run of fresh.toReversed())
      if (runs.hasRoom()) runs.show(run, { isWaiting: false });
      else missed += 1;
    if (missed === 0 || performance.now() < tellsAgainAt) return;
    tellsAgainAt = performance.now() + TOLD_EVERY_MS;
    const [are, have] = missed === 1 ? ["run is", "has it"] : ["runs are", "has them"];
    cli.notice(`(${missed} more ${are} not shown; \`keelson run list\` ${have})`);
    missed = 0;
  };
  await repeat(look, signal);
}

/** The first look notes what was there before. A server that cannot be reached is asked again. */
async function repeat(look: (isFirst: boolean) => Promise<void>, signal: AbortSignal): Promise<void> {
  let isFirst = true;
  while (!signal.aborted) {
    try {
      await look(isFirst);
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
