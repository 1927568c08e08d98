import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startGroupReaper } from "../../src/task-hosts/group-reaper.ts";
import { openHostHomes } from "../../src/task-hosts/host-homes.ts";
import type { HostSpec } from "../../src/task-hosts/host-key.ts";
import type { HostRun, RunSink, WaitingRun } from "../../src/task-hosts/host-run.ts";
import { TaskHost, type TaskHostOptions } from "../../src/task-hosts/task-host.ts";
import { cleanUp, type Owner } from "./clean-up.ts";

const nothing = (): undefined => undefined;

export const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Takes what a run has to say, and drops it. */
export const DEAF: RunSink = {
  ...{ output: nothing, event: nothing, metadata: nothing, call: nothing },
  ...{ awake: nothing, execResult: nothing, file: nothing },
};

/** Of a host that is not one of many. */
export const ALONE: Pick<TaskHostOptions, "onUnusable" | "onBegun" | "onReturned"> = {
  ...{ onUnusable: nothing, onBegun: nothing, onReturned: nothing },
};

let last = 0;

/** Begins a run in a process that has none. */
export function beginRun(host: TaskHost, input: unknown, sink: RunSink): HostRun {
  let begun: HostRun | undefined;
  last += 1;
  const run: WaitingRun = {
    ...{ id: String(last), input: input as WaitingRun["input"], sink, comesNext: nothing, returned: nothing },
    begun: (of) => void (begun = of),
  };
  host.give(run);
  if (begun === undefined) throw new Error("The run has not begun.");
  return begun;
}

/** Processes of exclusive runs, without an agent, each as it is started. They end with the test. @param source of their bundle */
export async function prepareTaskHost(
  t: Owner,
  folder: string,
  source: string | Uint8Array,
): Promise<{ spec: HostSpec; start(told: Partial<typeof ALONE>): TaskHost }> {
  const bundlePath = join(folder, "bundle.mjs");
  await writeFile(bundlePath, source);
  const homes = await openHostHomes(join(folder, "homes"), QUIET);
  const reaper = startGroupReaper(homes.mark, nothing);
  cleanUp(t, () => reaper.close());
  const spec: HostSpec = {
    ...{ environmentId: "one", user: null, secrets: {}, digest: "0", format: 1, mode: "exclusive" },
    ...{ bundleRoot: folder, bundlePath, memoryMb: null, isolation: "process", folders: [] },
  };
  const start = (told: Partial<typeof ALONE>): TaskHost => {
    const home = homes.create(null, true);
    const host = new TaskHost({
      ...{
        spec,
        home,
        environment: { PATH: process.env["PATH"] ?? "" },
        namespace: null,
        reaper,
        logger: QUIET,
      },
      ...{ ...ALONE, ...told },
    });
    cleanUp(t, async () => {
      host.kill("stopped");
      await host.gone;
      await homes.clear(home);
    });
    return host;
  };
  return { spec, start };
}

/** One of them, borrowed and ready. */
export async function startTaskHost(
  t: Owner,
  folder: string,
  source: string | Uint8Array,
  told: Partial<typeof ALONE> = {},
): Promise<TaskHost> {
  const { start } = await prepareTaskHost(t, folder, source);
  const host = start(told);
  host.borrow();
  await host.booted;
  return host;
}
