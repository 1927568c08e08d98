import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";
import type { HostRun, RunEnding, WaitingRun } from "../../src/task-hosts/host-run.ts";
import { bundleOf } from "./bundles.ts";
import { cleanUp, type Owner } from "./clean-up.ts";
import { DEAF } from "./start-task-host.ts";

/** Its runs leave signs in a folder of the test. */
export const SIGNING_BUNDLE = bundleOf(
  {
    /** Leaves a file at its begin, and one that it ends with. Blocks the process, or waits, until a file is there. */
    main: `
      writeFileSync(join(payload.folder, "begun-" + payload.id), "");
      for (const [fd, text] of payload.writes ?? []) writeSync(fd, text);
      if (payload.says) console.log(payload.says);
      if (payload.child) spawnSync("sh", ["-c", payload.child], { stdio: "inherit" });
      if (payload.rejects) void Promise.reject(new Error("nobody waits for it"));
      if (payload.exits) process.exit(3);
      if (payload.steals) readSync(5, Buffer.alloc(payload.steals), 0, payload.steals, null);
      if (payload.blocksUntil) block(payload.blocksUntil);
      if (payload.leavesUntil) setImmediate(() => block(payload.leavesUntil));
      if (payload.waitsUntil) while (!existsSync(payload.waitsUntil)) await new Promise((resolve) => setTimeout(resolve, 2));
      return payload.id;`,
    quick: "return payload.id;",
  },
  `import { existsSync, readSync, writeFileSync, writeSync } from "node:fs"; import { join } from "node:path"; import { spawnSync } from "node:child_process";
  const block = (file) => { while (!existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2); };`,
);

type Payload = {
  writes?: [fd: 1 | 2, text: string][];
  says?: string;
  child?: string;
  rejects?: boolean;
  exits?: boolean;
  /** How many tickets of others it takes. */
  steals?: number;
  blocksUntil?: string;
  /** The process is blocked when its end is told. */
  leavesUntil?: string;
  waitsUntil?: string;
};

/** A run of the test, and what was told of it, in order. */
export class TestRun implements WaitingRun {
  readonly id: string;
  readonly input: WaitingRun["input"];
  readonly told: string[] = [];
  readonly output = { stdout: "", stderr: "" };
  readonly sink = {
    ...DEAF,
    output: (stream: "stdout" | "stderr", bytes: Buffer) => void (this.output[stream] += bytes.toString()),
  };
  readonly #begun = Promise.withResolvers<HostRun>();
  readonly place: Promise<HostRun> = this.#begun.promise;
  readonly ended: Promise<RunEnding> = this.place.then(({ ended }) => ended);

  constructor(id: string, folder: string, payload: Payload, task: string) {
    this.id = id;
    const run = { payload: { id, folder, ...payload } };
    this.input = { entrypoint: { kind: "task", declaredId: task }, run, secrets: {} } as never;
  }

  comesNext(): void {
    this.told.push("next");
  }

  returned(): void {
    this.told.push("returned");
  }

  begun(run: HostRun): void {
    this.told.push("begun");
    this.#begun.resolve(run);
  }
}

/** Makes runs whose signs are in a folder that goes with the test. */
export async function startSigns(t: Owner) {
  const folder = await mkdtemp(join(tmpdir(), "keelson-given-"));
  cleanUp(t, () => removeTestFolder(folder));
  const signs = join(folder, "signs");
  await mkdir(signs);
  let last = 0;
  const run = (payload: Payload = {}, task = "main"): TestRun => {
    last += 1;
    return new TestRun(String(last), signs, payload, task);
  };
  return {
    ...{ folder, run },
    sign: (name: string) => join(signs, name),
    hasBegun: ({ id }: TestRun) => existsSync(join(signs, `begun-${id}`)),
    begun: () => readdirSync(signs).filter((name) => name.startsWith("begun-")).length,
  };
}

export const assertResult = async ({ ended, id }: TestRun): Promise<void> =>
  assert.deepEqual(await ended, { kind: "result", result: { outcome: "succeeded", output: `"${id}"` } });
