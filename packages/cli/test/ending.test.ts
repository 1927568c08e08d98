// However everything is told to end, the agent commits first, then the server ends, then PostgreSQL, and nothing is left.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  allGone,
  changeWorkspace,
  kill,
  makeUpSite,
  startUp,
  treeOf,
  type Running,
  type UpSite,
} from "./up-site.ts";
import { fewOf, newSeed } from "../../server/test/support/seeded-random.ts";
import { letPass } from "../../server/test/support/until.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const;
type Signal = (typeof SIGNALS)[number];

/** To whom, and how often. */
const WAYS: Record<string, (running: Running, signal: Signal) => Promise<void> | void> = {
  "the outermost process": ({ pids }, signal) =>
    kill(signal === "SIGHUP" || signal === "SIGQUIT" ? pids.run : pids.outer, signal),
  "the process of up": ({ pids }, signal) => kill(pids.up, signal),
  "the process group": ({ pids }, signal) => kill(-pids.outer, signal),
  "the process of up twice within 5 ms": async ({ pids }, signal) => {
    kill(pids.up, signal);
    await letPass(5, "the second signal comes when the first has hardly been heard");
    kill(pids.up, signal);
  },
  "the process of up again after 1.5 s": async ({ pids }, signal) => {
    kill(pids.up, signal);
    await letPass(1_500, "the second signal comes when the end is under way");
    kill(pids.up, signal);
  },
  "all its processes at once": ({ pids }, signal) => {
    for (const pid of treeOf(pids.outer)) kill(pid, signal);
  },
};

suite("everything ends in order", { concurrency: false }, () => {
  let site: UpSite;
  /** What the last workspace has to have when everything runs again. */
  let last: { id: string; text: string } | null = null;
  before(async () => (site = await makeUpSite()));
  after(() => site?.[Symbol.asyncDispose]());

  /** Everything, with a live workspace that has a change which no version has; what was changed before is there. */
  async function startChanged(text: string): Promise<Running> {
    const running = await startUp(site);
    await hasLast(running);
    last = { id: await changeWorkspace(running.client, text), text };
    return running;
  }
  async function hasLast({ client }: Running): Promise<void> {
    if (last !== null) assert.equal(await client.workspaces.files.readText(last.id, "made"), last.text);
  }

  const ends = SIGNALS.flatMap((signal) => Object.entries(WAYS).map((way) => [signal, ...way] as const));
  // By every seventh, each is of another way, and nearly each of another signal.
  for (const [signal, way, send] of fewOf(ends, 7, newSeed()))
    test(`on ${signal} to ${way}`, async () => {
      const running = await startChanged(`${signal} to ${way}`);
      const known = treeOf(running.pids.outer);
      await send(running, signal);
      await allGone(site, known, running.said);
      const { code } = await running.exited;
      // A wrapper that does not hear of SIGHUP and SIGQUIT dies of them in a group.
      if (signal === "SIGTERM" || signal === "SIGINT") assert.equal(code, 0, running.said());
      assert.doesNotMatch(running.said(), /could not be committed|did not stop cleanly/);
    });

  test("with what was changed last", async () => {
    const running = await startUp(site);
    await hasLast(running);
    kill(running.pids.up, "SIGTERM");
    await allGone(site, [], running.said);
  });
});
